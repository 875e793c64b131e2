#include "ops/attention/softmax.h"

#include <algorithm>

#include "ops/rms_norm/silu.h"

namespace pantograph::ops {
namespace {

// In lanes: of one running maximum compilers make no vector code, since NaN would get lost in
// another order.
inline float largest_of(const float* x, std::int64_t count) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, x[0]);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    }
  }
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

}  // namespace

PANTOGRAPH_VECTOR_CLONES
void softmax_row(float* x, std::int64_t count, float scale) {
  const float largest = largest_of(x, count);
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
