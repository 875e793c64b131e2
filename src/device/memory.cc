#include "device/memory.h"

#include "core/check.h"

namespace pantograph::device {

Memory::Memory(const Device& device, std::size_t bytes, const Allocator& allocator, void* stream,
               Fill fill)
    : device_(device), bytes_(bytes) {
  if (device.kind == DeviceKind::kCpu) {
    host_ = Buffer(bytes, allocator);
    data_ = host_.data();
    return;
  }
  if (bytes == 0) return;
  const CurrentDevice current(device);
  if (allocator.allocate) {
    data_ = static_cast<std::byte*>(allocator.allocate(bytes));
    deallocate_ = allocator.deallocate;
  } else {
    data_ = static_cast<std::byte*>(allocate(bytes));
    deallocate_ = [](void* pointer, std::size_t) { deallocate(pointer); };
  }
  if (data_ == nullptr) {
    fail(ErrorKind::kOutOfMemory, "no ", format_bytes(bytes), " left on GPU ", device.index, "; ",
         format_bytes(require_gpu(device.index).free_bytes), " are free");
  }
  if (fill == Fill::kZero) clear(data_, bytes, stream);
}

Memory::~Memory() {
  if (device_.kind == DeviceKind::kCpu || data_ == nullptr || !deallocate_) return;
  const CurrentDevice current(device_);
  deallocate_(data_, bytes_);
}

}  // namespace pantograph::device
