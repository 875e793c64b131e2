// A 3-tap correlation of a row that is enlarged by repeating each value: 4 outputs by 5 products of
// 4 transformed inputs, where the enlarged row (a, b, b, c, c, d) alone would take 6 of 6. Two
// dimensions take 25 products of 16 inputs for 16 outputs.
#pragma once

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
      if ((factor = factor_between(row, result.input[same]))) break;
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

}  // namespace pantograph::geometry
