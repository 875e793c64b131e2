// The upsampler, and its four small convolutions against the large one.
#include "ops/enlarge/enlarge.h"

#include <gtest/gtest.h>

#include "geometry/upsample.h"
#include "op_test.h"

namespace pantograph::ops {
namespace {

using test::HostFrames;

Weight whole_numbers(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<float> values(static_cast<std::size_t>(count));
  const Random random(seed, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.bits(i) % 7) - 3;
  }
  return {std::move(values), shape};
}

TEST(Enlarge, IsFourConvolutionsOfHalfTheSize) {
  constexpr std::int64_t kFrames = 2, kHeight = 3, kWidth = 4, kChannels = 2;
  const EnlargeWeights weights(whole_numbers({kChannels, kChannels, 3, 3}, 1),
                               whole_numbers({kChannels}, 2));
  HostFrames x(kFrames, kHeight, kWidth, kChannels);
  HostFrames y(kFrames, 2 * kHeight, 2 * kWidth, kChannels);
  x.fill_whole(3);
  std::fill(y.values.begin(), y.values.end(), 0.0F);
  test::OpRunner().run([&](const Context& context) { enlarge(context, weights, x.view, y.view); });

  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t column = 0; column < 2; ++column) {
      HostFrames phase(kFrames, kHeight, kWidth, kChannels);
      test::OpRunner().run([&](const Context& context) {
        conv3d(context, weights.phase(row, column), x.view, phase.view, nullptr, {row, column});
      });
      for (std::int64_t i = 0; i < kFrames * kHeight * kWidth; ++i) {
        const std::int64_t t = i / (kHeight * kWidth), r = i / kWidth % kHeight, c = i % kWidth;
        for (std::int64_t k = 0; k < kChannels; ++k) {
          EXPECT_EQ(phase.at(t, r, c, k), y.at(t, 2 * r + row, 2 * c + column, k));
        }
      }
    }
  }
}

// What a GPU's kernel takes from geometry/upsample.h: block 2 of the released decoder, where output
// channel c of row parity i is input channel 2 c + i, and block 0, where channels stay as they are.
TEST(DuplicateUpsample, TakesTheChannelsOfTheReleasedDecoder) {
  const geometry::DuplicateUpsample halving{
      .frames = 1, .height = 1, .width = 1, .in_channels = 1024, .out_channels = 512};
  const geometry::DuplicateUpsample same{.frames = 2,
                                         .height = 1,
                                         .width = 1,
                                         .in_channels = 1024,
                                         .out_channels = 1024,
                                         .temporal_factor = 2,
                                         .skipped = 1};
  EXPECT_EQ(same.out_frames(), 3);
  EXPECT_EQ(same.frame(0), 0);
  EXPECT_EQ(same.frame(1), 1);
  for (std::int64_t c = 0; c < 512; ++c) {
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t column = 0; column < 2; ++column) {
        EXPECT_EQ(halving.channel(0, row, column, c), 2 * c + row);
        EXPECT_EQ(same.channel(1, row, column, c), c);
      }
    }
  }
}

}  // namespace
}  // namespace pantograph::ops
