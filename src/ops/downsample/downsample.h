// The ways the encoder makes frames smaller, all plain data movement.
#pragma once

#include "core/frames.h"
#include "ops/context.h"

namespace pantograph::ops {

// y[t, i, j] = x[t, 2 i + 1, 2 j + 1], y [T, H / 2, W / 2, C]. After a 3x3 convolution of stride 1
// with zero padding all around, this is the one of stride 2 padded right and below.
void take_odd_positions(const Context& context, const FramesView& x, const FramesView& y);

// y[t] = x[2 t + 1], y [T / 2, H, W, C]. After a causal convolution of stride 1, the one of
// stride 2.
void take_odd_frames(const Context& context, const FramesView& x, const FramesView& y);

// The shortcut around a level, "AvgDown3D" in diffusers, added to y. Sub-positions of time, row and
// column are read as channels, in groups of G = in * ft * fs * fs / out that are averaged:
//   y[t, i, j, o] += mean over m in [G o, G (o + 1)) of
//       x[ft t + (m / (fs fs)) % ft - pad, fs i + (m / fs) % fs, fs j + m % fs, m / (ft fs fs)]
// where pad zero frames stand in front of x to make its frames a multiple of ft.
void add_averaged(const Context& context, const FramesView& x, std::int64_t temporal_factor,
                  std::int64_t spatial_factor, const FramesView& y);

// pixels [n, p H, p W, 3] to y [n, H, W, 3 p p], the inverse of unpatchify:
// y[f, i, j, p p k + p b + a] = pixels[f, p i + a, p j + b, k].
void patchify(const Context& context, const FramesView& pixels, std::int64_t patch,
              const FramesView& y);

}  // namespace pantograph::ops
