// The transforms in exact fractions: what they compute is the correlation itself.
#include "geometry/winograd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "geometry/winograd_upsample.h"

namespace pantograph::geometry {
namespace {

// As tensors: y[k] = sum over taps j and inputs d of T[k][j][d] g[j] d[d], and T is 1 where d = k +
// j.
template <std::size_t kOutputs, std::size_t kTaps>
void expect_correlation(const Winograd<kOutputs, kTaps>& w) {
  for (std::size_t k = 0; k < kOutputs; ++k) {
    for (std::size_t j = 0; j < kTaps; ++j) {
      for (std::size_t d = 0; d < w.kInputs; ++d) {
        Rational sum;
        for (std::size_t i = 0; i < w.kInputs; ++i) {
          sum = sum + w.output[k][i] * w.weight[i][j] * w.input[i][d];
        }
        EXPECT_EQ(sum, Rational(d == k + j ? 1 : 0)) << k << " " << j << " " << d;
      }
    }
  }
}

TEST(Winograd, IsTheCorrelation) {
  expect_correlation(derive_winograd<3, 2>({Rational(0), Rational(5, 3), Rational(-7)}));
  for (const std::int64_t outputs : {2, 4, 6}) {
    with_winograd(outputs, [](const auto& winograd) { expect_correlation(winograd); });
  }
}

TEST(Winograd, IsFoundByItsOutputs) {
  for (const std::size_t outputs : {2, 4, 6}) {
    EXPECT_EQ(with_winograd(static_cast<std::int64_t>(outputs),
                            [](const auto& winograd) { return winograd.output.size(); }),
              outputs);
  }
}

// Lavin and Gray's F(2, 3), but for the signs of inputs and weights, which cancel.
TEST(Winograd, IsThePublishedOne) {
  constexpr Winograd<2, 3> w = kWinograd2;
  const RationalMatrix<4, 4> input = {{{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}}};
  const Rational half(1, 2);
  const RationalMatrix<4, 3> weight = {
      {{-1, 0, 0}, {half, half, half}, {half, -half, half}, {0, 0, 1}}};
  const RationalMatrix<2, 4> output = {{{1, 1, 1, 0}, {0, 1, -1, 1}}};
  EXPECT_EQ(w.input, input);
  EXPECT_EQ(w.weight, weight);
  EXPECT_EQ(w.output, output);
}

template <std::size_t kColumns>
Rational squares(const std::array<Rational, kColumns>& row) {
  Rational sum;
  for (const Rational& value : row) sum = sum + value * value;
  return sum;
}

bool about_one(const Rational& squares) {
  return !(squares < Rational(1, 2)) && !(Rational(2) < squares);
}

TEST(Winograd, HasRowsOfAboutUnitNorm) {
  for (const std::int64_t outputs : {2, 4, 6}) {
    with_winograd(outputs, [](const auto& winograd) {
      for (const auto& row : winograd.input) EXPECT_TRUE(about_one(squares(row)));
      for (const auto& row : winograd.weight) EXPECT_TRUE(about_one(squares(row)));
    });
  }
}

void expect_correlation_of_repeated(const WinogradUpsample& w) {
  constexpr std::array<std::size_t, 6> kRepeated = {0, 1, 1, 2, 2, 3};
  for (std::size_t k = 0; k < w.kOutputs; ++k) {
    for (std::size_t j = 0; j < w.kTaps; ++j) {
      for (std::size_t v = 0; v < w.kValues; ++v) {
        Rational sum;
        for (std::size_t i = 0; i < w.kProducts; ++i) {
          sum = sum + w.output[k][i] * w.weight[i][j] * w.input[w.input_of[i]][v];
        }
        EXPECT_EQ(sum, Rational(kRepeated[k + j] == v ? 1 : 0)) << k << " " << j << " " << v;
      }
    }
  }
}

TEST(WinogradUpsample, IsTheCorrelationOfRepeatedValues) {
  for (const Rational& p : {Rational(2), Rational(1, 2), Rational(3, 2), Rational(5, 3)}) {
    expect_correlation_of_repeated(derive_winograd_upsample(p));
  }
  expect_correlation_of_repeated(kWinogradUpsample);
}

TEST(WinogradUpsample, HasRowsOfAboutUnitNorm) {
  for (const auto& row : kWinogradUpsample.input) EXPECT_TRUE(about_one(squares(row)));
  for (const auto& row : kWinogradUpsample.weight) EXPECT_TRUE(about_one(squares(row)));
}

TEST(FittingScale, IsAPowerOfTwoThatJustFits) {
  EXPECT_EQ(fitting_scale(0, 32, 1024), 1.0F);
  EXPECT_EQ(fitting_scale(32, 32, 1024), 1.0F);
  EXPECT_EQ(fitting_scale(33, 32, 1024), 0.5F);
  EXPECT_EQ(fitting_scale(3.3e38F, 1, 65504), 0x1p-112F);
  EXPECT_EQ(fitting_scale(INFINITY, 32, 1024), 1.0F);
  EXPECT_EQ(fitting_scale(NAN, 32, 1024), 1.0F);
}

// c - b serves two products: one of the even outputs and one of the odd.
TEST(WinogradUpsample, SharesAnInput) {
  constexpr WinogradUpsample w = derive_winograd_upsample(Rational(2));
  const std::array<std::size_t, 5> expected = {0, 1, 2, 2, 3};
  EXPECT_EQ(w.input_of, expected);
  EXPECT_EQ(w.input[2][1] + w.input[2][2], Rational(0));
  EXPECT_EQ(w.input[2][0], Rational(0));
  EXPECT_EQ(w.input[2][3], Rational(0));
}

}  // namespace
}  // namespace pantograph::geometry
