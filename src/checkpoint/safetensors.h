// The safetensors file format: an 8-byte little-endian header length, a JSON header, raw tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/mapped_file.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

struct TensorEntry {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  // bytes, from the end of the header
};

struct SafetensorsHeader {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
  std::int64_t data_begin = 0;                  // bytes from the beginning of the file
};

// Reads a header from the first bytes of a file of `file_size` bytes, the whole header among them,
// and proves that every tensor lies inside the file, that none overlap and that no byte is left
// over. Tensors may lie at any byte, aligned or not. Throws Error: kFormat; kUnsupported for a
// dtype that DType lacks or more than TensorView::kMaxRank dimensions.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes, std::int64_t file_size,
                                           const std::string& where);

// A file's tensors, mapped: views stay valid as long as this object lives.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  [[nodiscard]] const std::filesystem::path& path() const { return file_->path(); }
  [[nodiscard]] TensorView view(const std::string& name) const;  // throws kNotFound
  [[nodiscard]] const std::shared_ptr<MappedFile>& file() const { return file_; }

 private:
  std::shared_ptr<MappedFile> file_;
  SafetensorsHeader header_;
};

struct NamedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
};

// Writes a file whose tensors are given one after the other, in the order declared, in pieces of
// any size: nothing but the header is held. The file appears under its name with finish() only.
class SafetensorsWriter {
 public:
  // Throws Error: kInvalidArgument (names, shapes), else as TemporaryOutput does.
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                    const std::map<std::string, std::string>& metadata = {});
  ~SafetensorsWriter();
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) noexcept;
  void append(const void* bytes, std::size_t count);  // throws kIo
  void finish();  // throws kIo, and kInternal where bytes are missing

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pantograph
