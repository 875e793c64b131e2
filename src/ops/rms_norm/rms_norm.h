// RMS norm over channels, optionally followed by SiLU:
// y = act(x / max(|x|_2, 1e-12) * sqrt(C) * gamma), for every position of [T, H, W, C].
#pragma once

#include "core/frames.h"
#include "ops/context.h"
#include "weights/parameter.h"

namespace pantograph::ops {

enum class Activation { kNone, kSilu };

// y has x's shape and may be x.
void rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
              Activation activation, const FramesView& y);

// The same for the input of a causal convolution: the room in front of y gets the frames of
// `history`, which then holds the last frames of the two together.
void causal_rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
                     Activation activation, const FramesView& y, const FramesView& history);

}  // namespace pantograph::ops
