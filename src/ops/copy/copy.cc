#include "ops/copy/copy.h"

#include <cstring>

namespace pantograph::ops {

void copy_frames(const Context& context, const FramesView& source, const FramesView& target) {
  require(source.bytes() == target.bytes(), "copy_frames: source and target differ in size");
  if (!context.planning && source.bytes() > 0) {
    std::memcpy(target.data, source.data, source.bytes());
  }
}

void clear_frames(const Context& context, const FramesView& target) {
  if (!context.planning && target.bytes() > 0) std::memset(target.data, 0, target.bytes());
}

}  // namespace pantograph::ops
