// Convolutions by fewer products: Winograd's F(m, r), in one dimension. Two dimensions apply it to
// rows and columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "geometry/rational.h"

namespace pantograph::geometry {

template <std::size_t kRows, std::size_t kColumns>
using RationalMatrix = std::array<std::array<Rational, kColumns>, kRows>;

// Outputs y of a correlation, y[k] = sum_j g[j] d[k + j], by one product for each input:
// y = output ((weight g) * (input d)). In Lavin and Gray (2015): A^T, G and B^T.
template <std::size_t kOutputs, std::size_t kTaps>
struct Winograd {
  static constexpr std::size_t kInputs = kOutputs + kTaps - 1;
  RationalMatrix<kInputs, kInputs> input{};
  RationalMatrix<kInputs, kTaps> weight{};
  RationalMatrix<kOutputs, kInputs> output{};
};

// Toom and Cook's product of polynomials, transposed: the factors' values at `points`, all
// different, and at infinity, are multiplied, and the product comes back by Lagrange's
// interpolation.
template <std::size_t kOutputs, std::size_t kTaps>
constexpr Winograd<kOutputs, kTaps> derive_winograd(
    const std::array<Rational, kOutputs + kTaps - 2>& points) {
  constexpr std::size_t kPoints = kOutputs + kTaps - 2;
  Winograd<kOutputs, kTaps> result;
  for (std::size_t i = 0; i < kPoints; ++i) {
    // The product of (x - p) over the other points p: coefficients, and its value at this point.
    std::array<Rational, kPoints + 1> others{1};
    Rational value = 1;
    std::size_t degree = 0;
    for (std::size_t j = 0; j < kPoints; ++j) {
      if (j == i) continue;
      ++degree;
      for (std::size_t k = degree; k > 0; --k) others[k] = others[k - 1] - points[j] * others[k];
      others[0] = -points[j] * others[0];
      value = value * (points[i] - points[j]);
    }
    for (std::size_t k = 0; k < kPoints; ++k) result.input[i][k] = others[k];
    Rational power = 1;
    for (std::size_t k = 0; k < std::max(kTaps, kOutputs); ++k, power = power * points[i]) {
      if (k < kTaps) result.weight[i][k] = power / value;
      if (k < kOutputs) result.output[k][i] = power;
    }
  }
  std::array<Rational, kPoints + 1> all{1};  // the product of (x - p) over all points
  for (std::size_t j = 0; j < kPoints; ++j) {
    for (std::size_t k = j + 1; k > 0; --k) all[k] = all[k - 1] - points[j] * all[k];
    all[0] = -points[j] * all[0];
  }
  result.input[kPoints] = all;
  result.weight[kPoints][kTaps - 1] = 1;
  result.output[kOutputs - 1][kPoints] = 1;
  return result;
}

// The power of two by which a row's norm comes nearest to 1, by its logarithm.
template <std::size_t kColumns>
constexpr Rational unit_scale(const std::array<Rational, kColumns>& row) {
  Rational squares;
  for (const Rational& value : row) squares = squares + value * value;
  Rational scale = 1;
  while (squares * scale * scale < Rational(1, 2)) scale = scale * 2;
  while (Rational(2) < squares * scale * scale) scale = scale / 2;
  return scale;
}

// Rows of the transformed input and weights at about unit norm, which keeps fp16 far from both its
// ends; the output takes the inverse. Powers of two round nothing.
template <std::size_t kOutputs, std::size_t kTaps>
constexpr Winograd<kOutputs, kTaps> balanced(Winograd<kOutputs, kTaps> winograd) {
  for (std::size_t i = 0; i < winograd.kInputs; ++i) {
    const Rational input = unit_scale(winograd.input[i]), weight = unit_scale(winograd.weight[i]);
    for (Rational& value : winograd.input[i]) value = value * input;
    for (Rational& value : winograd.weight[i]) value = value * weight;
    for (auto& row : winograd.output) row[i] = row[i] / (input * weight);
  }
  return winograd;
}

// Of 3 taps, with 4, 2.25 and 1.78 products an output in two dimensions instead of 9. These points
// lose the least in fp16 of those that were tried.
inline constexpr Winograd<2, 3> kWinograd2 =
    balanced(derive_winograd<2, 3>({Rational(0), Rational(1), Rational(-1)}));
inline constexpr Winograd<4, 3> kWinograd4 = balanced(derive_winograd<4, 3>(
    {Rational(0), Rational(3, 4), Rational(-3, 4), Rational(3, 2), Rational(-3, 2)}));
inline constexpr Winograd<6, 3> kWinograd6 =
    balanced(derive_winograd<6, 3>({Rational(0), Rational(1), Rational(-1), Rational(2),
                                    Rational(-2), Rational(1, 2), Rational(-1, 2)}));

// use(F(outputs, 3)) for 2, 4 or 6 outputs.
template <typename Use>
constexpr auto with_winograd(std::int64_t outputs, const Use& use) {
  switch (outputs) {
    case 2:
      return use(kWinograd2);
    case 4:
      return use(kWinograd4);
    default:
      return use(kWinograd6);
  }
}

}  // namespace pantograph::geometry
