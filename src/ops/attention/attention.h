// Single-head self-attention within each frame, head size C, no mask:
// y = softmax(q k^T / sqrt(C)) v over the H * W positions.
#pragma once

#include "core/frames.h"
#include "ops/context.h"

namespace pantograph::ops {

// qkv [T, H, W, 3 C]: q, k and v one after the other along channels. y [T, H, W, C].
// The scores are made for at most kQueryBlock queries at a time.
inline constexpr std::int64_t kQueryBlock = 1024;
void frame_attention(const Context& context, const FramesView& qkv, const FramesView& y);

}  // namespace pantograph::ops
