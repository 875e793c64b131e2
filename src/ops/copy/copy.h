// Whole frames moved or cleared.
#pragma once

#include "core/frames.h"
#include "ops/context.h"

namespace pantograph::ops {

void copy_frames(const Context& context, const FramesView& source, const FramesView& target);
void clear_frames(const Context& context, const FramesView& target);

}  // namespace pantograph::ops
