// A convolution over tokens, each channel by itself, followed by SiLU:
// y[t, c] = silu(sum over j of weight[c, j] x[t - taps + 1 + j, c]); tokens before the first are 0.
#pragma once

#include <cstdint>
#include <vector>

#include "core/rows.h"
#include "ops/context.h"

namespace pantograph::ops {

// [channels, taps] in its file, kept as [taps, channels], so that channels are side by side.
struct DepthwiseWeights {
  DepthwiseWeights() = default;
  DepthwiseWeights(const std::vector<float>& weight, std::int64_t channel_count);
  std::int64_t channels = 0, taps = 0;
  std::vector<float> values;
};

// x and y [tokens, channels], f32; y is not x.
void causal_conv1d_silu(const Context& context, const DepthwiseWeights& weights, const RowsView& x,
                        const RowsView& y);

}  // namespace pantograph::ops
