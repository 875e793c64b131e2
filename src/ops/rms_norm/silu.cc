#include "ops/rms_norm/silu.h"

namespace pantograph::ops {

PANTOGRAPH_VECTOR_CLONES
void silu_row(float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] / (1.0F + vector_exp(-y[i]));
}

}  // namespace pantograph::ops
