#include "ops/causal_conv1d/causal_conv1d.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/rms_norm/silu.h"

namespace pantograph::ops {
namespace {

PANTOGRAPH_VECTOR_CLONES
void multiply_add_row(const float* x, const float* w, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t c = 0; c < count; ++c) y[c] += x[c] * w[c];
}

}  // namespace

DepthwiseWeights::DepthwiseWeights(const std::vector<float>& weight, std::int64_t channel_count)
    : channels(channel_count),
      taps(static_cast<std::int64_t>(weight.size()) / channel_count),
      values(weight.size()) {
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t j = 0; j < taps; ++j) {
      values[static_cast<std::size_t>(j * channels + c)] =
          weight[static_cast<std::size_t>(c * taps + j)];
    }
  }
}

void causal_conv1d_silu(const Context& context, const DepthwiseWeights& weights, const RowsView& x,
                        const RowsView& y) {
  require(x.rows == y.rows && x.columns == weights.channels && y.columns == weights.channels,
          "causal_conv1d: x [", x.rows, ", ", x.columns, "] and y [", y.rows, ", ", y.columns,
          "] with weights of ", weights.channels, " channels");
  if (context.planning) return;
  parallel_for(x.rows, 4096 / x.columns + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      float* const out = y.f32_row(t);
      std::fill(out, out + y.columns, 0.0F);
      for (std::int64_t j = std::max<std::int64_t>(0, weights.taps - 1 - t); j < weights.taps;
           ++j) {
        multiply_add_row(x.f32_row(t - weights.taps + 1 + j),
                         weights.values.data() + j * weights.channels, weights.channels, out);
      }
      silu_row(out, y.columns);
    }
  });
}

}  // namespace pantograph::ops
