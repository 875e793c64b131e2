// Winograd's transforms of a row in registers.
#pragma once

#include <type_traits>

#include "geometry/winograd.h"

namespace pantograph::kernels {

// F(kOutputs, 3)
template <int kOutputs>
constexpr const auto& winograd() {
  static_assert(kOutputs == 2 || kOutputs == 4 || kOutputs == 6);
  if constexpr (kOutputs == 2) {
    return geometry::kWinograd2;
  } else if constexpr (kOutputs == 4) {
    return geometry::kWinograd4;
  } else {
    return geometry::kWinograd6;
  }
}

template <std::size_t kRows, std::size_t kColumns>
struct FloatMatrix {
  float at[kRows][kColumns];
};

template <std::size_t kRows, std::size_t kColumns>
constexpr auto to_floats(const geometry::RationalMatrix<kRows, kColumns>& matrix) {
  FloatMatrix<kRows, kColumns> floats{};
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t k = 0; k < kColumns; ++k) floats.at[i][k] = matrix[i][k].to_float();
  }
  return floats;
}

// y = kMatrix * d
template <auto kMatrix, int kRows, int kColumns>
__device__ void multiply(const float (&d)[kColumns], float (&y)[kRows]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    y[i] = 0;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      if (kMatrix.at[i][k] != 0) y[i] = fmaf(kMatrix.at[i][k], d[k], y[i]);
    }
  }
}

// True where points 1 and 2, 3 and 4 and so on are p and -p: what they share is computed once.
template <int kOutputs>
constexpr bool points_are_pairs() {
  const auto& w = winograd<kOutputs>();
  for (std::size_t i = 1; i + 1 < w.kInputs; i += 2) {
    for (std::size_t k = 0; k < w.kInputs; ++k) {
      const auto& a = w.input[i][k];
      if (!(w.input[i + 1][k] == (k % 2 == 0 ? a : -a))) return false;
    }
    for (std::size_t k = 0; k < w.output.size(); ++k) {
      const auto& a = w.output[k][i];
      if (!(w.output[k][i + 1] == (k % 2 == 0 ? a : -a))) return false;
    }
  }
  return true;
}

// v = input matrix * d
template <int kOutputs>
__device__ void transform_input(const float (&d)[kOutputs + 2], float (&v)[kOutputs + 2]) {
  constexpr auto kMatrix = to_floats(winograd<kOutputs>().input);
  constexpr int kInputs = kOutputs + 2;
  static_assert(points_are_pairs<kOutputs>());
  const auto part = [&](int row, int first) {  // every second term
    float sum = 0;
    bool begun = false;
#pragma unroll
    for (int k = first; k < kInputs; k += 2) {
      if (kMatrix.at[row][k] == 0) continue;
      sum = begun ? fmaf(kMatrix.at[row][k], d[k], sum) : kMatrix.at[row][k] * d[k];
      begun = true;
    }
    return sum;
  };
  v[0] = part(0, 0);
  v[kInputs - 1] = part(kInputs - 1, 1);
#pragma unroll
  for (int i = 1; i < kInputs - 1; i += 2) {
    const float even = part(i, 0), odd = part(i, 1);
    v[i] = even + odd;
    v[i + 1] = even - odd;
  }
}

// y = output matrix * m
template <int kOutputs>
__device__ void transform_output(const float (&m)[kOutputs + 2], float (&y)[kOutputs]) {
  constexpr auto kMatrix = to_floats(winograd<kOutputs>().output);
  constexpr int kInputs = kOutputs + 2, kPairs = kOutputs / 2;
  float sums[kPairs], differences[kPairs];
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    sums[i] = m[2 * i + 1] + m[2 * i + 2];
    differences[i] = m[2 * i + 1] - m[2 * i + 2];
  }
#pragma unroll
  for (int k = 0; k < kOutputs; ++k) {
    float sum = kMatrix.at[k][1] * (k % 2 == 0 ? sums : differences)[0];
#pragma unroll
    for (int i = 1; i < kPairs; ++i) {
      sum = fmaf(kMatrix.at[k][2 * i + 1], (k % 2 == 0 ? sums : differences)[i], sum);
    }
    if (k == 0) sum = fmaf(kMatrix.at[0][0], m[0], sum);
    if (k == kOutputs - 1) sum = fmaf(kMatrix.at[k][kInputs - 1], m[kInputs - 1], sum);
    y[k] = sum;
  }
}

}  // namespace pantograph::kernels
