#include "ops/rms_norm/silu.h"

namespace pantograph::ops {

PANTOGRAPH_VECTOR_CLONES
void silu_row(float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] / (1.0F + vector_exp(-y[i]));
}

PANTOGRAPH_VECTOR_CLONES
void gelu_tanh_row(float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    constexpr float kTwoSqrt2OverPi = 1.59576912F;
    const float twice_u = kTwoSqrt2OverPi * (y[i] + 0.044715F * y[i] * y[i] * y[i]);
    y[i] = y[i] / (1.0F + vector_exp(-twice_u));
  }
}

}  // namespace pantograph::ops
