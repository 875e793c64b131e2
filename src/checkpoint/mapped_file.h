// A file's bytes, mapped for reading. The file must not shrink meanwhile: touching what is gone
// ends the process with SIGBUS.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace pantograph {

class MappedFile {
 public:
  // Throws Error: kNotFound, kIo (not readable, a folder), kFormat (empty).
  explicit MappedFile(const std::filesystem::path& path);
  // All that a stream still gives, held in memory; `name` stands for it in messages.
  // Throws Error: kIo, kFormat (nothing), kOutOfMemory.
  static std::shared_ptr<const MappedFile> from_stream(int descriptor, const char* name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Tells the system that these bytes, a part of bytes(), are not needed soon: their pages leave
  // the process's memory and are read again from the file where they are touched after all.
  void release_pages(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  void map(int descriptor, std::size_t size);

  std::filesystem::path path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pantograph
