// How the enlargement by fewer products is cut up and bounded.
#include "ops/enlarge/winograd_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "geometry/winograd_upsample.h"
#include "op_test.h"

namespace pantograph::ops {
namespace {

using geometry::DuplicateUpsample;
using geometry::kWinogradUpsample;

constexpr DuplicateUpsample kSizes{.frames = 3,
                                   .height = 7,
                                   .width = 5,
                                   .in_channels = 1024,
                                   .out_channels = 512,
                                   .temporal_factor = 2,
                                   .skipped = 1};

TEST(WinogradEnlarge, TakesWhatTheReleasedDecoderHas) {
  EXPECT_EQ(refuse_winograd_enlarge(kSizes), std::nullopt);
  for (const std::int64_t channels : {256, 512, 1024}) {
    DuplicateUpsample sizes = kSizes;
    sizes.out_channels = sizes.in_channels = channels;
    EXPECT_EQ(refuse_winograd_enlarge(sizes), std::nullopt) << channels;
  }
}

TEST(WinogradEnlarge, RefusesOtherChannelsAndSizes) {
  const auto refusal = [](auto change) {
    DuplicateUpsample sizes = kSizes;
    change(sizes);
    return refuse_winograd_enlarge(sizes).value_or("none");
  };
  EXPECT_EQ(refusal([](auto& s) { s.out_channels = 768; }), "256, 512 or 1024 channels only");
  EXPECT_EQ(refusal([](auto& s) { s.in_channels = 256; }),
            "a shortcut with as many channels or twice as many only");
  EXPECT_EQ(refusal([](auto& s) { s.temporal_factor = 4; }),
            "a shortcut with as many channels or twice as many only");
  EXPECT_EQ(refusal([](auto& s) { s.height = std::int64_t{1} << 30; }),
            "more positions than 32 bits count");
}

// Of 4 x 3 tiles in 5 frames.
TEST(WinogradEnlarge, CountsSixteenInputsAndTwentyFiveProducts) {
  const geometry::WinogradTiles tiles{.size = 2, .height = 7, .width = 5, .rows = 4};
  EXPECT_EQ(winograd_enlarge_input_bytes(kSizes, tiles), 2U * 16 * 5 * 4 * 3 * 512);
  EXPECT_EQ(winograd_enlarge_product_bytes(kSizes, tiles), 2U * 25 * 5 * 4 * 3 * 512);
}

TEST(WinogradEnlarge, WorksOnEachRowOfTilesOnce) {
  constexpr std::size_t kRow = std::size_t{2} * 41 * 5 * 3 * 512;
  for (const auto& [limit, parts] :
       {std::pair{std::size_t{1}, 4}, {kRow, 4}, {2 * kRow, 2}, {3 * kRow, 2}, {4 * kRow, 1}}) {
    const auto made = winograd_enlarge_parts(kSizes, limit);
    EXPECT_EQ(std::ssize(made), parts) << limit;
    std::int64_t next = 0;
    for (const geometry::WinogradTiles& tiles : made) {
      EXPECT_EQ(tiles.size, 2);
      EXPECT_EQ(tiles.first_row, next);
      next += tiles.rows;
    }
    EXPECT_EQ(next, 4) << limit;
  }
}

// The worst that a filter can meet is an input of its own signs.
TEST(WinogradEnlarge, BoundsTransformedWeightsAndProducts) {
  constexpr std::int64_t kChannels = 3;
  std::vector<float> values(kChannels * kChannels * 9);
  const Random random(1, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.normal(i));
  }
  double largest = 0;
  for (std::int64_t out = 0; out < kChannels; ++out) {
    for (const auto& row : kWinogradUpsample.weight) {
      for (const auto& column : kWinogradUpsample.weight) {
        double sum = 0;
        for (std::int64_t in = 0; in < kChannels; ++in) {
          double u = 0;
          for (std::size_t tap = 0; tap < 9; ++tap) {
            u += double{row[tap / 3].to_float()} * column[tap % 3].to_float() *
                 values[static_cast<std::size_t>((out * kChannels + in) * 9) + tap];
          }
          sum += std::abs(u);
        }
        largest = std::max(largest, sum);
      }
    }
  }
  double input = 0;
  for (const auto& row : kWinogradUpsample.input) {
    double sum = 0;
    for (const auto& value : row) sum += std::abs(value.to_float());
    input = std::max(input, sum);
  }
  const std::vector<std::int64_t> shape = {kChannels, kChannels, 3, 3}, bias = {kChannels};
  const Conv3dWeights weights(Weight(std::move(values), shape),
                              Weight(std::vector<float>(kChannels), bias));
  const EnlargeBounds bounds = winograd_enlarge_bounds(weights);
  EXPECT_GE(bounds.weight, largest);
  EXPECT_LE(bounds.weight, 9 * largest);
  EXPECT_GE(bounds.gain, input * input * std::max(1.0, largest));
}

TEST(WinogradEnlarge, DoesNotBoundWhatIsNoNumber) {
  std::vector<float> values(9, 1.0F);
  values[4] = test::kNan;
  const std::vector<std::int64_t> shape = {1, 1, 3, 3}, bias = {1};
  const Conv3dWeights weights(Weight(std::move(values), shape), Weight({0.0F}, bias));
  EXPECT_FALSE(winograd_enlarge_bounds(weights).weight <= 65504);
}

}  // namespace
}  // namespace pantograph::ops
