// The two ends of the decoder: latents in, pixels out.
#pragma once

#include "core/frames.h"
#include "ops/context.h"
#include "pantograph/frame_sink.h"
#include "pantograph/tensor_view.h"
#include "weights/parameter.h"

namespace pantograph::ops {

// latents [C, n, h, w] of any floating type and strides, on the CPU or y's device, to y [n, h, w,
// C]: y[..., c] = latents[c] * scale[c] + shift[c].
void load_latents(const Context& context, const TensorView& latents, const Parameter& scale,
                  const Parameter& shift, const FramesView& y);

// x [n, H, W, 3 p p] to pixels [n, p H, p W, 3], clamped to [-1, 1]:
// pixels[f, p y + i, p x + j, k] = x[f, y, x, p p k + p j + i]  (column offset before row offset).
void unpatchify(const Context& context, const FramesView& x, std::int64_t patch,
                const FramesView& pixels);

}  // namespace pantograph::ops
