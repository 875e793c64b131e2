// silu(v) = v / (1 + e^-v) of two values.
#pragma once

namespace pantograph::kernels {

namespace detail {

// To two units in the last place; these instructions alone, without the care for values near the
// smallest that exp2f and a division take.
__device__ inline float exp2_approximately(float v) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
  return power;
}
__device__ inline float reciprocal_approximately(float v) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(v));
  return reciprocal;
}

}  // namespace detail

// With one reciprocal for both: the units that make them and powers are the ones that a norm waits
// for. Powers are kept so small that their product is finite, so that below -43 this is v 2^-62.
__device__ inline float2 silu(float2 v) {
  constexpr float kLog2E = 1.4426950408889634F, kMost = 62;
  const float x = 1 + detail::exp2_approximately(fminf(-kLog2E * v.x, kMost));
  const float y = 1 + detail::exp2_approximately(fminf(-kLog2E * v.y, kMost));
  const float inverse = detail::reciprocal_approximately(x * y);
  return {v.x * (inverse * y), v.y * (inverse * x)};
}

}  // namespace pantograph::kernels
