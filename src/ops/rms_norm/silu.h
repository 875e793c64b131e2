// exp, SiLU and GELU that compilers turn into vector code.
#pragma once

#include <bit>
#include <cstdint>

// A function compiled once for each instruction set, the best chosen when the program is loaded:
// packages are built for the oldest x86-64, these loops should not run as if they were on it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define PANTOGRAPH_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PANTOGRAPH_VECTOR_CLONES
#endif

namespace pantograph::ops {

// e^x to 2 ulp for x in [-87, 88]; what lies outside is clamped to that range.
// 2^n e^r with n = round(x / ln 2), r in [-ln 2 / 2, ln 2 / 2], e^r by its Taylor polynomial.
inline float vector_exp(float x) {
  x = x < -87.0F ? -87.0F : (x > 88.0F ? 88.0F : x);
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding and subtracting it rounds to a whole
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + exponent);
}

// y <- y * sigmoid(y)
void silu_row(float* y, std::int64_t count);

// y <- GELU(y) in its tanh form, 0.5 y (1 + tanh(u)) with u = sqrt(2 / pi) (y + 0.044715 y^3),
// which is y sigmoid(2 u).
void gelu_tanh_row(float* y, std::int64_t count);

}  // namespace pantograph::ops
