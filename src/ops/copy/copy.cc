#include "ops/copy/copy.h"

#include <cstring>

#include "device/runtime.h"

namespace pantograph::ops {

void copy_frames(const Context& context, const FramesView& source, const FramesView& target) {
  require(source.bytes() == target.bytes(), "copy_frames: source and target differ in size");
  if (context.planning || source.bytes() == 0) return;
  if (context.device.kind == DeviceKind::kCuda) {
    return device::copy(target.data, source.data, source.bytes(), context.stream);
  }
  std::memcpy(target.data, source.data, source.bytes());
}

void clear_frames(const Context& context, const FramesView& target) {
  if (context.planning || target.bytes() == 0) return;
  if (context.device.kind == DeviceKind::kCuda) {
    return device::clear(target.data, target.bytes(), context.stream);
  }
  std::memset(target.data, 0, target.bytes());
}

}  // namespace pantograph::ops
