// How far x is scaled down for f16.
#pragma once

#include "geometry/winograd_upsample.h"
#include "kernels/winograd/upsample.h"

namespace pantograph::kernels {

__device__ inline float scale_for(const F16Range& range) {
  constexpr float kLargestF16 = 65504;
  return geometry::fitting_scale(*range.largest, range.gain, kLargestF16);
}

}  // namespace pantograph::kernels
