#include "ops/attention/softmax.h"

#include <algorithm>

#include "ops/rms_norm/silu.h"

namespace pantograph::ops {

PANTOGRAPH_VECTOR_CLONES
void softmax_row(float* x, std::int64_t count, float scale) {
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[i]);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = vector_exp((x[i] - largest) * scale);
    sum += x[i];
  }
  const float inverse = 1.0F / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] *= inverse;
}

}  // namespace pantograph::ops
