// Convolutions by patches, gathered here as kernels::GatherPatches says, with the second step on a
// CPU.
#include "ops/conv3d/by_patches.h"

#include <gtest/gtest.h>

#include <array>

#include "op_test.h"

namespace pantograph::ops {
namespace {

using test::HostFrames;

constexpr std::int64_t kIn = 8, kOut = 4, kTime = 3, kFrames = 2, kHeight = 3, kWidth = 4;

Conv3dWeights whole_numbers() {
  HostFrames weight(kOut, kIn, kTime, 9), bias(1, 1, 1, kOut);
  weight.fill_whole(1);
  bias.fill_whole(2);
  const std::array<std::int64_t, 5> shape = {kOut, kIn, kTime, 3, 3};
  const std::array<std::int64_t, 1> bias_shape = {kOut};
  return {Weight(std::move(weight.values), shape), Weight(std::move(bias.values), bias_shape)};
}

TEST(ByPatches, ProductsOfPatchesAreTheConvolution) {
  const Conv3dWeights weights = whole_numbers(), of_patches = weights_of_patches(weights);
  HostFrames x(kFrames + kTime - 1, kHeight, kWidth, kIn);
  x.fill_whole(3);
  HostFrames patches(x.view.frames, kHeight, kWidth, patch_channels(kIn));
  std::fill(patches.values.begin(), patches.values.end(), 0.0F);
  for (std::int64_t i = 0; i < x.view.frames * kHeight * kWidth; ++i) {
    const std::int64_t t = i / (kHeight * kWidth), row = i / kWidth % kHeight, column = i % kWidth;
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      const std::int64_t r = row + tap / 3 - 1, c = column + tap % 3 - 1;
      if (r < 0 || r >= kHeight || c < 0 || c >= kWidth) continue;
      for (std::int64_t channel = 0; channel < kIn; ++channel) {
        patches.at(t, row, column, tap * kIn + channel) = x.at(t, r, c, channel);
      }
    }
  }
  HostFrames y(kFrames, kHeight, kWidth, kOut), products(kFrames, kHeight, kWidth, kOut);
  test::OpRunner().run([&](const Context& context) {
    conv3d(context, weights, x.view, y.view);
    conv3d(context, of_patches, patches.view, products.view);
  });
  EXPECT_EQ(products.values, y.values);
}

TEST(ByPatches, TakesOnlyAFewChannels) {
  Conv3dProblem problem{.frames = 1,
                        .height = 2,
                        .width = 2,
                        .in_channels = 48,
                        .out_channels = 1024,
                        .kernel = {3, 3, 3}};
  EXPECT_EQ(refuse_by_patches(problem), std::nullopt);
  const Conv3dProblem products = products_of_patches(problem);
  EXPECT_EQ(products.in_channels, 448);
  EXPECT_EQ(products.kernel, (KernelSize{3, 1, 1}));
  for (const std::int64_t channels : {12, 72, 256}) {
    problem.in_channels = channels;
    EXPECT_EQ(refuse_by_patches(problem), "from 8 k channels, at most 64, only") << channels;
  }
  problem.in_channels = 48;
  problem.accumulate = true;
  EXPECT_EQ(refuse_by_patches(problem), "no residual and no shifts");
  problem.kernel = {3, 1, 1};
  EXPECT_EQ(refuse_by_patches(problem), "3 x 3 in space only");
}

}  // namespace
}  // namespace pantograph::ops
