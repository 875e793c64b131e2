#include "ops/rms_norm/rms_norm.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/copy/copy.h"
#include "ops/cuda.h"
#include "ops/rms_norm/silu.h"

namespace pantograph::ops {
namespace {

PANTOGRAPH_VECTOR_CLONES
void norm_row(const float* x, const float* gamma, std::int64_t channels, float* y) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < channels; ++c) sum += x[c] * x[c];
  const float scale = std::sqrt(static_cast<float>(channels)) / std::max(std::sqrt(sum), 1e-12F);
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) y[c] = x[c] * scale * gamma[c];
}

}  // namespace

void rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
              Activation activation, const FramesView& y) {
  require(x.positions() == y.positions() && x.channels == y.channels && gamma.size() == x.channels,
          "rms_norm: x, gamma and y disagree in shape");
  if (context.planning) return;
  context.stop_if_cancelled();
  if (context.device.kind == DeviceKind::kCuda)
    return cuda::rms_norm(context, x, gamma, activation, y);
  parallel_for(x.positions(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t position = begin; position < end; ++position) {
      const float* row = x.f32() + position * x.channels;
      float* out = y.f32() + position * x.channels;
      norm_row(row, gamma.values().data(), x.channels, out);
      if (activation == Activation::kSilu) silu_row(out, x.channels);
    }
  });
}

void causal_rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
                     Activation activation, const FramesView& y, const FramesView& history) {
  require(y.frame_elements() == history.frame_elements() && x.frames == y.frames,
          "causal_rms_norm: x, y and history disagree in shape");
  if (context.device.kind == DeviceKind::kCuda && x.frames > 0) {
    if (context.planning) return;
    context.stop_if_cancelled();
    return cuda::causal_rms_norm(context, x, gamma, activation, y, history);
  }
  const std::int64_t count = history.frames;
  copy_frames(context, history, y.slice(-count, count));
  rms_norm(context, x, gamma, activation, y);
  copy_frames(context, y.slice(y.frames - count, count), history);
}

}  // namespace pantograph::ops
