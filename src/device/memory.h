// Memory and handles of a device, given back on destruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/memory.h"
#include "device/runtime.h"
#include "pantograph/execution_context.h"

namespace pantograph::device {

enum class Fill : std::uint8_t {
  kZero,
  kNone  // whatever is there; on a CPU zeros all the same
};

// Bytes on a CPU or a GPU, from the allocator's callbacks where it has them.
class Memory {
 public:
  Memory() = default;
  // Filled in the order of `stream`. Throws Error(kOutOfMemory).
  Memory(const Device& device, std::size_t bytes, const Allocator& allocator = {},
         void* stream = nullptr, Fill fill = Fill::kZero);
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(deallocate_, other.deallocate_);
  }
  Buffer host_;
  Device device_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::function<void(void*, std::size_t)> deallocate_;
};

// A pointer-sized resource with the function that releases it.
template <void (*kRelease)(void*) noexcept>
class Handle {
 public:
  Handle() = default;
  explicit Handle(void* value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() {
    if (value_ != nullptr) kRelease(value_);
  }
  [[nodiscard]] void* get() const { return value_; }

 private:
  void* value_ = nullptr;
};

using Stream = Handle<destroy_stream>;
using Event = Handle<destroy_event>;
using PinnedMemory = Handle<deallocate_pinned>;  // page-locked host memory, for overlapped copies

}  // namespace pantograph::device
