// The two ways the decoder enlarges frames, both plain data movement.
#pragma once

#include "core/frames.h"
#include "ops/context.h"

namespace pantograph::ops {

// Nearest neighbour x2 in height and width. x [T, H, W, r C] holds r frames at each position, one
// after the other along channels (r = 2 after the temporal convolution, else 1):
// y[r t + a, 2 i + p, 2 j + q, c] = x[t, i, j, a C + c], y [r T, 2 H, 2 W, C].
void nearest_upsample(const Context& context, const FramesView& x, const FramesView& y);

// The shortcut around a resampler, "DupUp3D" in diffusers: channels of x [T, H, W, in] are repeated
// and read as sub-positions of time, row and column. With ft = temporal_factor and
// r = out * ft * 4 / in:
//   y[ft t + a - skipped, 2 i + p, 2 j + q, c] = x[t, i, j, (4 ft c + 4 a + 2 p + q) / r]
// `first` says that x begins with frame 0 of the sequence, of which only the last of the ft copies
// in time is kept (skipped = ft - 1, and those copies are not written).
void duplicate_upsample(const Context& context, const FramesView& x, std::int64_t temporal_factor,
                        bool first, const FramesView& y);

}  // namespace pantograph::ops
