#include "bench/kernel_cases.h"

#include <gtest/gtest.h>

#include "models/wan_vae/config.h"
#include "ops/conv3d/winograd_plan.h"

namespace pantograph::bench {
namespace {

constexpr OutputWay kEverything = kOutputWays[3];

// Latents of 44 x 78 are 704 x 1248 pixels.
TEST(KernelCasesTest, SizesAreThoseOfTheDecoder) {
  const std::vector<wan_vae::Level> levels = wan_vae::decoder_levels(wan_vae::released_config());
  ASSERT_EQ(levels.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    const geometry::DuplicateUpsample& upsampler = kUpsamplers[i];
    EXPECT_EQ(upsampler.height, 44 << i);
    EXPECT_EQ(upsampler.width, 78 << i);
    EXPECT_EQ(upsampler.in_channels, levels[i].in_channels);
    EXPECT_EQ(upsampler.out_channels, levels[i].out_channels);
    EXPECT_EQ(upsampler.temporal_factor, levels[i].temporal_upsample ? 2 : 1);
    // Of levels 3, 2 and 1, which are made by the upsamplers before them.
    const auto& [frames, height, width, channels] = kConvolutions[i].y;
    EXPECT_EQ(frames, kUpsamplers[2 - i].out_frames());
    EXPECT_EQ(height, 44 << (3 - i));
    EXPECT_EQ(width, 78 << (3 - i));
    EXPECT_EQ(channels, levels[3 - i].out_channels);
    EXPECT_EQ(kConvolutions[i].tile_size,
              ops::winograd_tile_size(height * width, ops::Thrift::kNone));
  }
  EXPECT_EQ(kConvolutions[3].tile_size, ops::winograd_tile_size(88 * 156, ops::Thrift::kSome));
  EXPECT_EQ(kTemporal.channels, 2 * levels[1].out_channels);
}

TEST(KernelCasesTest, RowsOfProductsAreTheTilesOfAllFrames) {
  std::vector<std::int64_t> rows;
  for (const ConvolutionCase& c : kConvolutions) rows.push_back(c.y.frames * c.tiles().per_frame());
  // 59 x 104, 30 x 52, 15 x 26 and 22 x 39 tiles.
  EXPECT_EQ(rows, (std::vector<std::int64_t>{49088, 12480, 6240, 13728}));
}

TEST(KernelCasesTest, AProductHasTwoOperationsForEachPairOfFactors) {
  EXPECT_EQ(product_flops(1, 1, 1, 1), 2);
  EXPECT_EQ(product_flops(64, 49088, 768, 256), 1'235'339'968'512);
}

// 2 frames of 7 x 9 x 256 in 2 x 3 tiles, each of 36 components.
constexpr ConvolutionCase kSmall = {4, {2, 7, 9, 256}};

TEST(KernelCasesTest, AnInputIsReadWithItsHistoryAndWrittenByComponents) {
  EXPECT_EQ(input_bytes(kSmall), 4 * (63 + 36 * 6) * 256 * 2);
  EXPECT_EQ(input_bytes(kConvolutions[0]), 3'135'242'240);
}

TEST(KernelCasesTest, AnOutputCountsWhatItsWayMoves) {
  constexpr std::int64_t kPixels = 63 * 256 * 2, kProducts = 2 * 36 * 6 * 256 * 2;  // of a frame
  std::vector<std::int64_t> moved;
  for (const OutputWay& way : kOutputWays) {
    moved.push_back((output_bytes(kSmall, way) - kProducts) / kPixels);
  }
  // Frames: y; its norm; three of them; and two of history read, and written in two places.
  EXPECT_EQ(moved, (std::vector<std::int64_t>{2, 2, 6, 12}));
  // 8 x 6136 tiles of 64 components; 3 x 8 + 6 frames of 352 x 624.
  EXPECT_EQ(output_bytes(kConvolutions[0], kEverything), 4'982'308'864);
}

// 3 x 5 pixels of 512 channels in 2 x 3 tiles, enlarged to 256 channels.
TEST(KernelCasesTest, UpsamplersCountEnlargedFrames) {
  constexpr geometry::DuplicateUpsample kWide = {2, 3, 5, 512, 256, 1};
  EXPECT_EQ(upsample_input_bytes(kWide), 2 * (15 + 16 * 6) * 256 * 2);
  // Products, the shortcut; y, its norm and three times two frames of history.
  EXPECT_EQ(upsample_output_bytes(kWide),
            2 * 25 * 6 * 256 * 2 + 2 * 15 * 512 * 2 + (2 + 2 + 6) * 60 * 256 * 2);
  // Twice as many frames, less the one that the first is not doubled to.
  constexpr geometry::DuplicateUpsample kDoubled = {2, 3, 5, 256, 256, 2, 1};
  EXPECT_EQ(upsample_input_bytes(kDoubled), 3 * (15 + 16 * 6) * 256 * 2);
  EXPECT_EQ(upsample_output_bytes(kDoubled),
            3 * 25 * 6 * 256 * 2 + 2 * 15 * 256 * 2 + (3 + 3 + 6) * 60 * 256 * 2);
}

TEST(KernelCasesTest, SumsReadTheTapsInsideOfTheFrame) {
  EXPECT_EQ(sum_taps_bytes({1, 1, 1, 12}), (1 + 1) * 12 * 2);
  // Of 2 x 3 pixels the corners have 4 taps and the two between them 6.
  EXPECT_EQ(sum_taps_bytes({5, 2, 3, 12}), 5 * (4 * 4 + 2 * 6 + 6) * 12 * 2);
}

TEST(KernelCasesTest, ANormReadsWritesAndMovesItsHistory) {
  EXPECT_EQ(rms_norm_bytes({4, 7, 9, 256}, 0), 8 * 63 * 256 * 2);
  EXPECT_EQ(rms_norm_bytes({4, 7, 9, 256}, 2), (8 + 6) * 63 * 256 * 2);
}

}  // namespace
}  // namespace pantograph::bench
