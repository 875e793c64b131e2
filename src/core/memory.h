// Host memory: what there is, what this process has used, and buffers of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "pantograph/execution_context.h"

namespace pantograph {

// Bytes a new allocation could take before the machine swaps or a control group's limit is met.
// `root` is where proc and sys are.
std::size_t available_memory(const std::filesystem::path& root = "/");
// The most this process has had resident so far, in bytes.
std::size_t peak_resident_memory();

// "1.5 GiB", "300 MiB"
std::string format_bytes(std::size_t bytes);

// Zeroed memory from an Allocator's callbacks, or from the system, aligned to 256 bytes.
class Buffer {
 public:
  Buffer() = default;
  // Throws Error(kOutOfMemory).
  explicit Buffer(std::size_t bytes, const Allocator& allocator = {});
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(deallocate_, other.deallocate_);
  }
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::function<void(void*, std::size_t)> deallocate_;
};

}  // namespace pantograph
