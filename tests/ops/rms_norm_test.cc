#include "ops/rms_norm/rms_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "ops/op_test.h"
#include "ops/rms_norm/silu.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::HostFrames;
using test::OpRunner;

std::vector<float> some_gamma(std::int64_t channels) {
  std::vector<float> gamma(static_cast<std::size_t>(channels));
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    gamma[c] = static_cast<float>(1 + 0.2 * Random(3, 0).normal(c));
  }
  return gamma;
}

double silu(double x) {
  return x / (1 + std::exp(-x));
}

TEST(RmsNorm, IsItsDefinitionInDouble) {
  for (const std::int64_t channels : {1, 3, 6, 12, 16, 31, 48, 256, 1024}) {
    const std::vector<float> gamma = some_gamma(channels);
    HostFrames x(2, 3, 1, channels), y(2, 3, 1, channels), active(2, 3, 1, channels);
    x.fill_normal(static_cast<std::uint64_t>(channels));
    OpRunner().run([&](const Context& context) {
      rms_norm(context, x.view, gamma, Activation::kNone, y.view);
      rms_norm(context, x.view, gamma, Activation::kSilu, active.view);
    });
    for (std::int64_t p = 0; p < 6; ++p) {
      const float* row = x.values.data() + p * channels;
      double squares = 0;
      for (std::int64_t c = 0; c < channels; ++c) squares += double{row[c]} * row[c];
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto i = static_cast<std::size_t>(p * channels + c);
        const double expected = row[c] / std::max(std::sqrt(squares), 1e-12) *
                                std::sqrt(static_cast<double>(channels)) *
                                gamma[static_cast<std::size_t>(c)];
        ASSERT_NEAR(y.values[i], expected, 2e-6 * std::abs(expected)) << channels << " " << i;
        ASSERT_NEAR(active.values[i], silu(expected), 4e-6 * std::abs(expected)) << channels;
      }
    }
  }
}

TEST(RmsNorm, MayWorkInPlace) {
  const std::vector<float> gamma = some_gamma(12);
  HostFrames x(1, 4, 5, 12), y(1, 4, 5, 12);
  x.fill_normal(1);
  OpRunner().run([&](const Context& context) {
    rms_norm(context, x.view, gamma, Activation::kSilu, y.view);
    rms_norm(context, x.view, gamma, Activation::kSilu, x.view);
  });
  EXPECT_EQ(x.values, y.values);
}

TEST(RmsNorm, ZeroStaysZero) {
  HostFrames x(1, 1, 2, 4), y(1, 1, 2, 4);
  std::fill(x.values.begin(), x.values.end(), 0.0F);
  OpRunner().run([&](const Context& context) {
    rms_norm(context, x.view, some_gamma(4), Activation::kSilu, y.view);
  });
  EXPECT_EQ(y.values, std::vector<float>(8, 0.0F));
}

// A norm of 2e-13 counts as 1e-12: x / 1e-12 * sqrt(4).
TEST(RmsNorm, NearlyZeroIsNotBlownUp) {
  HostFrames x(1, 1, 1, 4), y(1, 1, 1, 4);
  std::fill(x.values.begin(), x.values.end(), 1e-13F);
  OpRunner().run([&](const Context& context) {
    rms_norm(context, x.view, std::vector<float>(4, 1.0F), Activation::kNone, y.view);
  });
  for (const float value : y.values) EXPECT_NEAR(value, 0.2F, 1e-6F);
}

TEST(RmsNorm, AGammaOfAnotherLengthIsADefect) {
  HostFrames x(1, 1, 1, 4);
  expect_error(ErrorKind::kInternal, {"rms_norm"}, [&] {
    OpRunner().run([&](const Context& context) {
      rms_norm(context, x.view, std::vector<float>(3, 1.0F), Activation::kNone, x.view);
    });
  });
}

TEST(VectorExp, IsWithinTwoUlpOfExp) {
  const auto check = [](float x) {
    const double exact = std::exp(static_cast<double>(x));
    const auto rounded = static_cast<float>(exact);
    const double ulp = double{std::nextafter(rounded, INFINITY)} - rounded;
    ASSERT_LE(std::abs(vector_exp(x) - exact), 2 * ulp) << x;
  };
  // Every 997th float of either sign.
  for (std::uint32_t bits = 0; bits <= std::bit_cast<std::uint32_t>(88.0F); bits += 997) {
    const auto x = std::bit_cast<float>(bits);
    check(x);
    if (x <= 87) check(-x);
  }
  check(88);
  check(-87);
  EXPECT_EQ(vector_exp(0), 1.0F);
}

TEST(VectorExp, ClampsWhatLiesOutside) {
  EXPECT_EQ(vector_exp(89), vector_exp(88));
  EXPECT_EQ(vector_exp(INFINITY), vector_exp(88));
  EXPECT_EQ(vector_exp(-88), vector_exp(-87));
  EXPECT_EQ(vector_exp(-INFINITY), vector_exp(-87));
}

TEST(Silu, IsWithinAMillionthOfItsDefinition) {
  std::vector<float> x;
  for (double v = -87; v <= 200; v += 0.0137) x.push_back(static_cast<float>(v));
  for (const float v : {0.0F, -0.0F, 1e-30F, -1e-30F, 1e30F}) x.push_back(v);
  std::vector<float> y = x;
  silu_row(y.data(), static_cast<std::int64_t>(y.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = silu(x[i]);
    ASSERT_NEAR(y[i], expected, 1e-6 * std::abs(expected)) << x[i];
  }
}

TEST(Gelu, IsItsTanhForm) {
  std::vector<float> x;
  for (double v = -20; v <= 20; v += 0.0037) x.push_back(static_cast<float>(v));
  for (const float v : {0.0F, 1e-30F, -1e-30F, 1e30F, -1e30F}) x.push_back(v);
  std::vector<float> y = x;
  gelu_tanh_row(y.data(), static_cast<std::int64_t>(y.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double u = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
    ASSERT_NEAR(y[i], 0.5 * v * (1 + std::tanh(u)), 1e-6 * std::abs(v)) << x[i];
  }
  float nan = test::kNan;
  gelu_tanh_row(&nan, 1);
  EXPECT_TRUE(std::isnan(nan));
}

TEST(Silu, FarBelowZeroItVanishesAndNanStaysNan) {
  std::vector<float> y = {-88, -1000, -1e30F, test::kNan};
  silu_row(y.data(), 4);
  EXPECT_NEAR(y[0], 0, 1e-30);
  EXPECT_NEAR(y[1], 0, 1e-30);
  EXPECT_NEAR(y[2], 0, 1e-7);
  EXPECT_TRUE(std::isnan(y[3]));
}

}  // namespace
}  // namespace pantograph::ops
