#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "geometry/latent_patches.h"
#include "geometry/rope.h"
#include "support/golden_tensors.h"

namespace pantograph::geometry {
namespace {

TEST(LatentPatches, TokensRunOverTimeRowsColumnsAndColumnsOverChannelsFirst) {
  const LatentPatches patches{
      .frames = 4, .height = 6, .width = 8, .patch_t = 2, .patch_height = 3, .patch_width = 2};
  EXPECT_EQ(patches.tokens(), 2 * 2 * 4);
  EXPECT_EQ(patches.offset(0, 0), 0);
  EXPECT_EQ(patches.offset(1, 0), 2);           // the patch beside it
  EXPECT_EQ(patches.offset(4, 0), 3 * 8);       // the patch below
  EXPECT_EQ(patches.offset(8, 0), 2 * 6 * 8);   // the next two frames
  EXPECT_EQ(patches.offset(0, 1), 1);           // x within a patch
  EXPECT_EQ(patches.offset(0, 2), 8);           // then y
  EXPECT_EQ(patches.offset(0, 6), 6 * 8);       // then t
  EXPECT_EQ(patches.offset(0, 12), 4 * 6 * 8);  // then the channel
  EXPECT_EQ(patches.offset(15, 23), 2 * patches.plane() - 1);
}

TEST(LatentPatches, EveryElementHasOnePlace) {
  const LatentPatches patches{
      .frames = 2, .height = 4, .width = 6, .patch_t = 1, .patch_height = 2, .patch_width = 3};
  std::set<std::int64_t> seen;
  const std::int64_t columns = 5 * patches.patch_elements();
  for (std::int64_t token = 0; token < patches.tokens(); ++token) {
    for (std::int64_t column = 0; column < columns; ++column) {
      seen.insert(patches.offset(token, column));
    }
  }
  EXPECT_EQ(std::ssize(seen), 5 * patches.plane());
  EXPECT_EQ(*seen.rbegin(), 5 * patches.plane() - 1);
}

TEST(LatentPatches, OnlyMultiplesFit) {
  EXPECT_TRUE((LatentPatches{2, 4, 6, 1, 2, 2}.fits()));
  EXPECT_FALSE((LatentPatches{2, 5, 6, 1, 2, 2}.fits()));
  EXPECT_FALSE((LatentPatches{3, 4, 6, 2, 2, 2}.fits()));
  EXPECT_FALSE((LatentPatches{0, 4, 6, 1, 2, 2}.fits()));
}

// 79 latent frames: positions rounded to bf16, or to whole frames, would be off by 0.1 and more.
TEST(Rope, TheLastFramesOfALongClipTurnAsTheTranscriptions) {
  const test::GoldenTensors golden("pan2_dit/rope_79x3x2_last_3_frames.safetensors");
  const Rope rope{.axis_channels = {16, 56, 56}, .theta = 256, .temporal_scale = 2.0 / 3};
  std::vector<float> cos(79 * 3 * 2 * 64), sin(cos.size());
  fill_rope_tables(rope, 79, 3, 2, cos.data(), sin.data());
  const std::size_t last = 3 * 6 * 64;
  EXPECT_LE(test::largest_difference(std::span(cos).last(last), golden.values("cos")), 1e-5);
  EXPECT_LE(test::largest_difference(std::span(sin).last(last), golden.values("sin")), 1e-5);
}

TEST(Rope, EachAxisTurnsItsOwnPairs) {
  const Rope rope{.axis_channels = {4, 2, 6}, .theta = 64, .temporal_scale = 0.5};
  EXPECT_EQ(rope.pairs(), 6);
  EXPECT_DOUBLE_EQ(rope.angle(3, 0, 0, 0), 1.5);
  EXPECT_DOUBLE_EQ(rope.angle(3, 0, 0, 1), 1.5 / 8);  // 64^(2 / 4)
  EXPECT_DOUBLE_EQ(rope.angle(3, 5, 7, 2), 5);
  EXPECT_DOUBLE_EQ(rope.angle(3, 5, 7, 3), 7);
  EXPECT_DOUBLE_EQ(rope.angle(3, 5, 7, 5), 7.0 / 16);  // 64^(4 / 6)
}

}  // namespace
}  // namespace pantograph::geometry
