// A 3-tap correlation of a row that is enlarged by repeating each value: 4 outputs by 5 products of
// 4 transformed inputs, where the enlarged row (a, b, b, c, c, d) alone would take 6 of 6. Two
// dimensions take 25 products of 16 inputs for 16 outputs.
#pragma once

#include <limits>
#include <optional>

#include "geometry/winograd.h"

namespace pantograph::geometry {

struct WinogradUpsample {
  static constexpr std::size_t kOutputs = 4, kTaps = 3, kValues = 4, kInputs = 4, kProducts = 5;
  RationalMatrix<kInputs, kValues> input{};  // of (a, b, c, d)
  std::array<std::size_t, kProducts> input_of{};
  RationalMatrix<kProducts, kTaps> weight{};
  RationalMatrix<kOutputs, kProducts> output{};
};

// The factor that makes row `a` of row `b`; nothing where none does.
template <std::size_t kColumns>
constexpr std::optional<Rational> factor_between(const std::array<Rational, kColumns>& a,
                                                 const std::array<Rational, kColumns>& b) {
  std::optional<Rational> factor;
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (b[i] == Rational(0)) {
      if (!(a[i] == b[i])) return std::nullopt;
    } else {
      const Rational here = a[i] / b[i];
      if (factor && !(*factor == here)) return std::nullopt;
      factor = here;
    }
  }
  return factor;
}

// F(4, 3) at the points 0, 1, -1, p, -p and infinity. On repeated values the input of point -1
// vanishes, and those of p and -p are multiples of c - b: one input for two products.
constexpr WinogradUpsample derive_winograd_upsample(const Rational& p) {
  constexpr std::array<std::size_t, 6> kRepeated = {0, 1, 1, 2, 2, 3};
  const Winograd<4, 3> plain =
      derive_winograd<4, 3>({Rational(0), Rational(1), Rational(-1), p, -p});
  WinogradUpsample result;
  std::size_t inputs = 0, products = 0;
  for (std::size_t i = 0; i < plain.kInputs; ++i) {
    std::array<Rational, WinogradUpsample::kValues> row{};
    for (std::size_t k = 0; k < plain.kInputs; ++k) {
      row[kRepeated[k]] = row[kRepeated[k]] + plain.input[i][k];
    }
    if (row == decltype(row){}) continue;
    std::size_t same = 0;
    std::optional<Rational> factor;
    for (; same < inputs; ++same) {
      factor = factor_between(row, result.input[same]);
      if (factor) break;
    }
    if (!factor) result.input[inputs++] = row;
    result.input_of[products] = same;
    for (std::size_t k = 0; k < plain.weight[i].size(); ++k) {
      result.weight[products][k] = plain.weight[i][k] * factor.value_or(Rational(1));
    }
    for (std::size_t k = 0; k < plain.output.size(); ++k) {
      result.output[k][products] = plain.output[k][i];
    }
    ++products;
  }
  return result;
}

// As with Winograd's: rows at about unit norm, by powers of two.
constexpr WinogradUpsample balanced(WinogradUpsample upsample) {
  std::array<Rational, WinogradUpsample::kInputs> input;
  for (std::size_t i = 0; i < upsample.kInputs; ++i) {
    input[i] = unit_scale(upsample.input[i]);
    for (Rational& value : upsample.input[i]) value = value * input[i];
  }
  for (std::size_t i = 0; i < upsample.kProducts; ++i) {
    const Rational weight = unit_scale(upsample.weight[i]);
    for (Rational& value : upsample.weight[i]) value = value * weight;
    for (auto& row : upsample.output) row[i] = row[i] / (input[upsample.input_of[i]] * weight);
  }
  return upsample;
}

// With inputs, weights and products in fp16, in two dimensions, on values with nothing in common
// (and on smooth ones), the error is 3.6e-3 (1.1e-3) of the outputs' deviation; with p = 7/4 3.5e-3
// (1.1e-3), 3/5 3.6e-3 (1.1e-3), 3/2 3.9e-3 (1.3e-3), 2 and 1/2 4.1e-3 (1.3e-3), 3/4 6.0e-3
// (1.9e-3). Rounding the outputs to bf16 loses 1.7e-3.
inline constexpr WinogradUpsample kWinogradUpsample =
    balanced(derive_winograd_upsample(Rational(5, 3)));

// The largest power of two, 1 at most, by which values up to `largest` can be multiplied so that
// `gain` times them stays within `limit`; 1 where they are not finite, for nothing helps those.
constexpr float fitting_scale(float largest, float gain, float limit) {
  float scale = 1;
  if (!(largest <= std::numeric_limits<float>::max())) return scale;
  while (scale * largest > limit / gain) scale /= 2;
  return scale;
}

}  // namespace pantograph::geometry
