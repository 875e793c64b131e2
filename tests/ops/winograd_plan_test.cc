// What Winograd's way decides from sizes and weights: tiles, parts of rows, bytes, and the bound
// that keeps f16 from overflowing.
#include "ops/conv3d/winograd_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "core/random.h"
#include "geometry/winograd.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using geometry::WinogradTiles;
using test::expect_error;

Conv3dProblem problem(std::int64_t in, std::int64_t out) {
  return {.frames = 4,
          .height = 44,
          .width = 78,
          .in_channels = in,
          .out_channels = out,
          .kernel = {3, 3, 3},
          .dtype = DType::kBF16};
}

constexpr std::array kThrifts = {Thrift::kNone, Thrift::kSome, Thrift::kMost};

// Larger tiles have larger weights, which small frames do not pay for.
TEST(ChooseWinograd, TakesLargeTilesForLargeFrames) {
  struct Case {
    std::int64_t height, width;
    std::array<std::int64_t, 3> tile_size;  // by thrift
  };
  for (const Case& c :
       {Case{1, 1, {4, 2, 2}}, Case{44, 78, {4, 2, 2}}, Case{64, 127, {4, 2, 2}},
        Case{64, 128, {6, 4, 2}}, Case{88, 156, {6, 4, 2}}, Case{128, 255, {6, 4, 2}},
        Case{128, 256, {6, 6, 4}}, Case{176, 312, {6, 6, 4}}, Case{256, 511, {6, 6, 4}},
        Case{256, 512, {6, 6, 6}}, Case{352, 624, {6, 6, 6}}}) {
    for (const std::int64_t channels : {256, 512, 1024}) {
      for (std::size_t i = 0; i < kThrifts.size(); ++i) {
        Conv3dProblem p = problem(channels, channels);
        p.height = c.height, p.width = c.width, p.thrift = kThrifts[i];
        const WinogradChoice choice = choose_winograd(p);
        EXPECT_EQ(choice.tile_size, c.tile_size[i]) << c.height << " x " << c.width;
        EXPECT_EQ(choice.refusal, "");
      }
    }
  }
}

// The dearer memory is, the smaller are the weights; the larger a frame, the larger its tiles.
TEST(ChooseWinograd, IsSteadyInPixelsAndInThrift) {
  std::array<std::int64_t, kThrifts.size()> before = {2, 2, 2};
  for (std::int64_t pixels = 1; pixels < 1 << 18; ++pixels) {
    std::int64_t most = 6;
    for (std::size_t i = 0; i < kThrifts.size(); ++i) {
      const std::int64_t size = winograd_tile_size(pixels, kThrifts[i]);
      ASSERT_LE(size, most) << pixels;
      ASSERT_GE(size, before[i]) << pixels;
      most = before[i] = size;
    }
  }
}

TEST(ChooseWinograd, TakesAnyNumberOfTapsInTime) {
  for (const std::int64_t taps : {1, 2, 3, 5}) {
    Conv3dProblem p = problem(256, 256);
    p.kernel.time = taps;
    EXPECT_EQ(choose_winograd(p).tile_size, 4) << taps;
  }
}

TEST(ChooseWinograd, SaysWhyItRefuses) {
  const auto refusal = [](const std::function<void(Conv3dProblem&)>& change) {
    Conv3dProblem p = problem(256, 256);
    change(p);
    const WinogradChoice choice = choose_winograd(p);
    EXPECT_EQ(choice.tile_size, 0);
    return choice.refusal;
  };
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    EXPECT_EQ(refusal([&](Conv3dProblem& p) { p.dtype = dtype; }), "bf16 only");
  }
  for (const KernelSize& kernel : {KernelSize{3, 1, 1}, {1, 1, 1}, {3, 3, 2}, {3, 2, 3}}) {
    EXPECT_EQ(refusal([&](Conv3dProblem& p) { p.kernel = kernel; }), "3 x 3 in space only");
  }
  EXPECT_EQ(refusal([](Conv3dProblem& p) { p.shift = {1, 0}; }), "no shifts");
  EXPECT_EQ(refusal([](Conv3dProblem& p) { p.shift = {0, 1}; }), "no shifts");
  for (const std::int64_t in : {1, 48, 96, 257}) {
    EXPECT_TRUE(refusal([&](Conv3dProblem& p) { p.in_channels = in; }).ends_with("channels only"));
  }
  for (const std::int64_t out : {12, 64, 320, 768, 1280, 2048}) {
    EXPECT_TRUE(
        refusal([&](Conv3dProblem& p) { p.out_channels = out; }).ends_with("channels only"));
  }
}

// Positions are counted in 32 bits, the history's among them.
TEST(ChooseWinograd, RefusesMorePositionsThan32BitsCount) {
  constexpr std::int64_t kLargest = (std::int64_t{1} << 31) - 1;
  Conv3dProblem p = problem(256, 256);
  p.height = p.width = 1;
  p.frames = kLargest - 2;
  EXPECT_EQ(choose_winograd(p).refusal, "");
  for (const auto& [frames, height, width] :
       {std::array{kLargest - 1, std::int64_t{1}, std::int64_t{1}},
        {std::int64_t{6}, std::int64_t{1} << 14, std::int64_t{1} << 14},
        {std::int64_t{1}, kLargest, kLargest},
        {kLargest << 20, kLargest, std::int64_t{16}}}) {
    p.frames = frames, p.height = height, p.width = width;
    EXPECT_EQ(choose_winograd(p).refusal, "more positions than 32 bits count")
        << frames << " " << height << " " << width;
  }
}

// Frames in longer or shorter passes are computed alike.
TEST(ChooseWinograd, DoesNotDependOnTheNumberOfFrames) {
  for (const auto& [height, width] : {std::pair{1, 1}, {44, 78}, {88, 156}, {352, 624}}) {
    Conv3dProblem p = problem(512, 256);
    p.height = height, p.width = width;
    for (const Thrift thrift : kThrifts) {
      p.thrift = thrift, p.frames = 4;
      const std::int64_t expected = choose_winograd(p).tile_size;
      for (p.frames = 0; p.frames < 200; ++p.frames) {
        EXPECT_EQ(choose_winograd(p).tile_size, expected) << p.frames;
      }
    }
  }
}

TEST(WinogradBytes, AreThoseOfAllComponents) {
  // F(6, 3) on 13 x 7: 3 x 2 tiles, 64 components, 4 + 2 frames of input.
  Conv3dProblem p = problem(128, 256);
  p.height = 13, p.width = 7;
  WinogradTiles tiles{.size = 6, .height = 13, .width = 7, .first_row = 0, .rows = 3};
  EXPECT_EQ(winograd_input_bytes(p, tiles), 2U * 64 * 6 * 6 * 128);
  EXPECT_EQ(winograd_product_bytes(p, tiles), 2U * 64 * 4 * 6 * 256);
  tiles.first_row = 2, tiles.rows = 1;
  EXPECT_EQ(winograd_input_bytes(p, tiles), 2U * 64 * 6 * 2 * 128);
  // F(4, 3): 4 x 2 tiles, 36 components.
  tiles = {.size = 4, .height = 13, .width = 7, .first_row = 0, .rows = 4};
  EXPECT_EQ(winograd_product_bytes(p, tiles), 2U * 36 * 4 * 8 * 256);
  // F(2, 3): 7 x 4 tiles, 16 components.
  tiles = {.size = 2, .height = 13, .width = 7, .first_row = 0, .rows = 7};
  EXPECT_EQ(winograd_product_bytes(p, tiles), 2U * 16 * 4 * 28 * 256);
  p.frames = std::int64_t{1} << 55;
  expect_error(ErrorKind::kInternal, {"more tiles than any memory holds"},
               [&] { winograd_product_bytes(p, tiles); });
}

struct Cut {
  Conv3dProblem problem;
  std::int64_t tile_size;
  std::size_t limit;

  [[nodiscard]] std::vector<WinogradTiles> parts() const {
    return winograd_parts(problem, tile_size, limit);
  }
  [[nodiscard]] std::size_t bytes(const WinogradTiles& tiles) const {
    return winograd_input_bytes(problem, tiles) + winograd_product_bytes(problem, tiles);
  }
};

// All frames of up to 20 x 13 pixels, with limits from less than a row of tiles to more than all.
void for_each_cut(const std::function<void(const Cut&)>& check) {
  for (const std::int64_t tile_size : {2, 4, 6}) {
    for (std::int64_t height = 1; height <= 20; ++height) {
      for (std::int64_t width = 1; width <= 13; ++width) {
        Cut cut{problem(64, 256), tile_size, 0};
        cut.problem.height = height, cut.problem.width = width;
        WinogradTiles row{.size = tile_size, .height = height, .width = width, .rows = 1};
        const std::size_t bytes = cut.bytes(row);
        for (const std::size_t limit :
             {std::size_t{0}, bytes - 1, bytes, 2 * bytes - 1, 2 * bytes, 3 * bytes, 100 * bytes}) {
          cut.limit = limit;
          check(cut);
        }
      }
    }
  }
}

TEST(WinogradParts, HoldEachPixelInOneTileOfOnePart) {
  for_each_cut([](const Cut& cut) {
    const std::int64_t height = cut.problem.height, width = cut.problem.width;
    std::vector<int> times(static_cast<std::size_t>(height * width));
    for (const WinogradTiles& tiles : cut.parts()) {
      ASSERT_EQ(tiles.size, cut.tile_size);
      ASSERT_EQ(tiles.height, height);
      ASSERT_EQ(tiles.width, width);
      for (std::int64_t tile = 0; tile < tiles.per_frame(); ++tile) {
        ASSERT_LT(tiles.top(tile), height);
        ASSERT_LT(tiles.left(tile), width);
        for (std::int64_t i = 0; i < tiles.size * tiles.size; ++i) {
          const std::int64_t y = tiles.top(tile) + i / tiles.size;
          const std::int64_t x = tiles.left(tile) + i % tiles.size;
          if (y < height && x < width) ++times[static_cast<std::size_t>(y * width + x)];
        }
      }
    }
    for (const int count : times) ASSERT_EQ(count, 1);
  });
}

TEST(WinogradParts, StayWithinTheLimitWhereARowFitsAndAreFewAndAlike) {
  for_each_cut([](const Cut& cut) {
    const std::vector<WinogradTiles> parts = cut.parts();
    WinogradTiles row = parts.front();
    row.rows = 1;
    const bool fits = cut.bytes(row) <= cut.limit;
    std::int64_t least = row.rows_of_frame(), most = 0;
    for (const WinogradTiles& tiles : parts) {
      ASSERT_TRUE(fits ? cut.bytes(tiles) <= cut.limit : tiles.rows == 1);
      least = std::min(least, tiles.rows), most = std::max(most, tiles.rows);
    }
    ASSERT_LE(most - least, 1);
    if (!fits || parts.size() == 1) return;
    // One part fewer would have to hold more than fits.
    row.rows = (row.rows_of_frame() + std::ssize(parts) - 2) / (std::ssize(parts) - 1);
    ASSERT_GT(cut.bytes(row), cut.limit);
  });
}

constexpr std::int64_t kIn = 16, kOut = 4, kTaps = 3;
constexpr double kInputNorm = 5;

Conv3dWeights weights_of(const std::function<double(std::size_t)>& value) {
  std::vector<float> values(static_cast<std::size_t>(kOut * kIn * kTaps * 9));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(value(i));
  const std::vector<std::int64_t> shape = {kOut, kIn, kTaps, 3, 3}, bias = {kOut};
  return {Weight(std::move(values), shape), Weight(std::vector<float>(kOut), bias)};
}

// What a convolution of those weights can come to for inputs of the norm: the largest transformed
// input, transformed weight and product, each reached.
struct Extremes {
  double input = 0, weight = 0, product = 0;
};

template <std::size_t kOutputs>
Extremes find_extremes(const geometry::Winograd<kOutputs, 3>& winograd,
                       const Conv3dWeights& weights) {
  constexpr std::size_t kInputs = kOutputs + 2;
  const std::vector<float> w = weights.weight().to_f32();  // [out, in, taps, 3, 3]
  Extremes found;
  for (std::size_t component = 0; component < kInputs * kInputs; ++component) {
    const auto& row = winograd.input[component / kInputs];
    const auto& column = winograd.input[component % kInputs];
    const auto& weight_row = winograd.weight[component / kInputs];
    const auto& weight_column = winograd.weight[component % kInputs];
    for (std::int64_t out = 0; out < kOut; ++out) {
      double product = 0;
      for (std::int64_t tap = 0; tap < kTaps; ++tap) {
        std::vector<double> u(kIn);  // the transformed filter's component
        double squares = 0;
        for (std::int64_t c = 0; c < kIn; ++c) {
          double& value = u[static_cast<std::size_t>(c)];
          for (std::size_t k = 0; k < 9; ++k) {
            const auto at = static_cast<std::size_t>(((out * kIn + c) * kTaps + tap) * 9) + k;
            value += double{weight_row[k / 3].to_float()} * weight_column[k % 3].to_float() * w[at];
          }
          squares += value * value;
          found.weight = std::max(found.weight, std::abs(value));
        }
        if (squares == 0) continue;
        // The worst input: at each pixel along u, with the sign of the pixel's coefficient.
        for (std::int64_t c = 0; c < kIn; ++c) {
          const double along = kInputNorm * u[static_cast<std::size_t>(c)] / std::sqrt(squares);
          double v = 0, alone = 0;
          for (std::size_t k = 0; k < kInputs * kInputs; ++k) {
            const double coefficient =
                double{row[k / kInputs].to_float()} * column[k % kInputs].to_float();
            v += coefficient * std::copysign(along, coefficient * along);
            alone += coefficient * std::copysign(kInputNorm, coefficient);
          }
          product += std::copysign(v, along) * u[static_cast<std::size_t>(c)];
          found.input = std::max(found.input, alone);
        }
      }
      found.product = std::max(found.product, product);
    }
  }
  return found;
}

class WinogradBound : public testing::TestWithParam<std::int64_t> {
 protected:
  static double bound(const Conv3dWeights& weights, double input_norm = kInputNorm) {
    return winograd_bound(weights, GetParam(), input_norm);
  }
  static Extremes extremes(const Conv3dWeights& weights) {
    return geometry::with_winograd(
        GetParam(), [&](const auto& winograd) { return find_extremes(winograd, weights); });
  }
};

TEST_P(WinogradBound, HoldsForTheWorstInputsAndIsNotFarAbove) {
  const Random random(1, 0);
  const auto normal = [&](std::size_t i) { return random.normal(i); };
  const auto delta = [](std::size_t i) { return i % 9 == 4 ? 1.0 : 0.0; };
  const auto uneven = [&](std::size_t i) { return random.normal(i) * (i < 27 ? 1000 : 1e-3); };
  const auto alike = [](std::size_t i) { return i % 2 == 0 ? 1.0 : -1.0; };
  for (const auto& value :
       std::initializer_list<std::function<double(std::size_t)>>{normal, delta, uneven, alike}) {
    const Conv3dWeights weights = weights_of(value);
    const Extremes worst = extremes(weights);
    const double most = std::max({worst.input, worst.weight, worst.product});
    EXPECT_GE(bound(weights) * (1 + 1e-12), most);
    EXPECT_LE(bound(weights), 10 * most);
  }
}

TEST_P(WinogradBound, IsOfTheInputWhereTheWeightsAreSmallAndOfTheWeightsWhereTheInputIs) {
  const Conv3dWeights tiny = weights_of([](std::size_t i) { return i == 4 ? 1e-9 : 0; });
  EXPECT_NEAR(bound(tiny), extremes(tiny).input, 1e-5 * bound(tiny));
  const Conv3dWeights large = weights_of([](std::size_t) { return 1e4; });
  EXPECT_GE(bound(large, 1e-9), extremes(large).weight);
  EXPECT_LE(bound(large, 1e-9), 1000 * extremes(large).weight);
}

TEST_P(WinogradBound, GrowsWithTheInputAndTheWeights) {
  const auto scaled = [](double scale) {
    return weights_of([=](std::size_t i) { return scale * Random(1, 0).normal(i); });
  };
  const double once = bound(scaled(1));
  EXPECT_NEAR(bound(scaled(1), 2 * kInputNorm), 2 * once, 1e-9 * once);
  EXPECT_NEAR(bound(scaled(8)), 8 * once, 1e-9 * once);
  EXPECT_GT(bound(scaled(1e30)), 65504);
  EXPECT_TRUE(std::isinf(bound(weights_of([](std::size_t) { return INFINITY; }))));
}

INSTANTIATE_TEST_SUITE_P(Tiles, WinogradBound, testing::Values(2, 4, 6));

}  // namespace
}  // namespace pantograph::ops
