// The upsampler, and its four small convolutions against the large one.
#include "ops/enlarge/enlarge.h"

#include <gtest/gtest.h>

#include "geometry/upsample.h"
#include "op_test.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/upsample/upsample.h"

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
  HostFrames nothing(kFrames, kHeight, kWidth, kChannels);
  std::fill(nothing.values.begin(), nothing.values.end(), 0.0F);
  test::OpRunner().run([&](const Context& context) {
    enlarge(context, weights, {.x = x.view, .shortcut = nothing.view, .y = y.view});
  });

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

// With shortcut and norm in one call what each of them makes by itself, frame 0 alone and the
// others doubled.
TEST(Enlarge, AddsTheShortcutAndPreparesTheNextLayer) {
  constexpr std::int64_t kHeight = 2, kWidth = 3, kChannels = 4, kHistory = 2;
  const EnlargeWeights weights(whole_numbers({kChannels, kChannels, 3, 3}, 1),
                               whole_numbers({kChannels}, 2));
  const Parameter gamma(std::vector<float>{1, -2, 0.5F, 3});
  for (const bool first : {true, false}) {
    const std::int64_t copies = first ? 1 : 2;
    HostFrames x(1, kHeight, kWidth, copies * kChannels), shortcut(1, kHeight, kWidth, kChannels);
    x.fill_whole(3);
    shortcut.fill_whole(4);
    HostFrames y(copies, 2 * kHeight, 2 * kWidth, kChannels);
    HostFrames normed(kHistory + copies, 2 * kHeight, 2 * kWidth, kChannels);
    HostFrames history(kHistory, 2 * kHeight, 2 * kWidth, kChannels);
    history.fill_normal(5);
    HostFrames y_alone(copies, 2 * kHeight, 2 * kWidth, kChannels);
    HostFrames enlarged(copies, 2 * kHeight, 2 * kWidth, kChannels);
    HostFrames normed_alone(kHistory + copies, 2 * kHeight, 2 * kWidth, kChannels);
    HostFrames history_alone(kHistory, 2 * kHeight, 2 * kWidth, kChannels);
    history_alone.values = history.values;
    test::OpRunner().run([&](const Context& context) {
      const Enlargement enlargement{.x = x.view,
                                    .shortcut = shortcut.view,
                                    .temporal_factor = 2,
                                    .first = first,
                                    .y = y.view};
      EXPECT_FALSE(enlarge_fuses(context, weights, enlargement));
      enlarge(context, weights, enlargement,
              {.gamma = &gamma, .y = normed.view.slice(kHistory, copies), .history = history.view});
      duplicate_upsample(context, shortcut.view, 2, first, y_alone.view);
      nearest_upsample(context, x.view, enlarged.view);
      conv3d(context, weights.whole(), enlarged.view, y_alone.view, &y_alone.view);
      causal_rms_norm(context, y_alone.view, gamma, Activation::kSilu,
                      normed_alone.view.slice(kHistory, copies), history_alone.view);
    });
    EXPECT_EQ(y.values, y_alone.values) << first;
    EXPECT_EQ(normed.values, normed_alone.values) << first;
    EXPECT_EQ(history.values, history_alone.values) << first;
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
  const geometry::DuplicateUpsample halving_in_time{
      .frames = 1, .in_channels = 512, .out_channels = 256, .temporal_factor = 2};
  EXPECT_EQ(same.out_frames(), 3);
  EXPECT_EQ(same.frame(0), 0);
  EXPECT_EQ(same.frame(1), 1);
  for (std::int64_t c = 0; c < 512; ++c) {
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t column = 0; column < 2; ++column) {
        EXPECT_EQ(halving.channel(0, row, column, c), 2 * c + row);
        EXPECT_EQ(same.channel(1, row, column, c), c);
        EXPECT_EQ(halving_in_time.channel(1, row, column, c), 2 * c + 1);
      }
    }
  }
}

}  // namespace
}  // namespace pantograph::ops
