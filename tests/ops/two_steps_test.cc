// Convolutions in two steps, with the step that is one too on a CPU and the other as
// kernels::SumTaps and kernels::GatherPatches say.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "op_test.h"
#include "ops/conv3d/by_patches.h"
#include "ops/conv3d/by_taps.h"

namespace pantograph::ops {
namespace {

using test::HostFrames;

constexpr std::int64_t kTime = 3, kFrames = 2, kHeight = 3, kWidth = 4;

Conv3dWeights whole_numbers(std::int64_t in, std::int64_t out) {
  HostFrames weight(out, in, kTime, 9), bias(1, 1, 1, out);
  weight.fill_whole(1);
  bias.fill_whole(2);
  const std::array<std::int64_t, 5> shape = {out, in, kTime, 3, 3};
  const std::array<std::int64_t, 1> bias_shape = {out};
  return {Weight(std::move(weight.values), shape), Weight(std::move(bias.values), bias_shape)};
}

// Calls visit(t, row, column, tap, row of the neighbour, its column) for each that lies in a frame.
template <typename Visit>
void for_each_neighbour(std::int64_t frames, const Visit& visit) {
  for (std::int64_t i = 0; i < frames * kHeight * kWidth; ++i) {
    const std::int64_t t = i / (kHeight * kWidth), row = i / kWidth % kHeight, column = i % kWidth;
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      const std::int64_t r = row + tap / 3 - 1, c = column + tap % 3 - 1;
      if (r >= 0 && r < kHeight && c >= 0 && c < kWidth) visit(t, row, column, tap, r, c);
    }
  }
}

TEST(ByTaps, SumsOfProductsAreTheConvolution) {
  constexpr std::int64_t kIn = 3, kOut = 4;
  const Conv3dWeights weights = whole_numbers(kIn, kOut), of_taps = weights_of_taps(weights);
  HostFrames x(kFrames + kTime - 1, kHeight, kWidth, kIn);
  x.fill_whole(3);
  HostFrames y(kFrames, kHeight, kWidth, kOut), sums(kFrames, kHeight, kWidth, kOut);
  HostFrames products(kFrames, kHeight, kWidth, kTapChannels);
  test::OpRunner().run([&](const Context& context) {
    conv3d(context, weights, x.view, y.view);
    conv3d(context, of_taps, x.view, products.view);
  });
  std::fill(sums.values.begin(), sums.values.end(), 0.0F);
  for_each_neighbour(kFrames, [&](auto t, auto row, auto column, auto tap, auto r, auto c) {
    for (std::int64_t o = 0; o < kOut; ++o) {
      sums.at(t, row, column, o) += products.at(t, r, c, tap * kOut + o);
    }
  });
  EXPECT_EQ(sums.values, y.values);
}

TEST(ByPatches, ProductsOfPatchesAreTheConvolution) {
  constexpr std::int64_t kIn = 8, kOut = 4;
  const Conv3dWeights weights = whole_numbers(kIn, kOut), of_patches = weights_of_patches(weights);
  HostFrames x(kFrames + kTime - 1, kHeight, kWidth, kIn);
  x.fill_whole(3);
  HostFrames patches(x.view.frames, kHeight, kWidth, patch_channels(kIn));
  std::fill(patches.values.begin(), patches.values.end(), 0.0F);
  for_each_neighbour(x.view.frames, [&](auto t, auto row, auto column, auto tap, auto r, auto c) {
    for (std::int64_t channel = 0; channel < kIn; ++channel) {
      patches.at(t, row, column, tap * kIn + channel) = x.at(t, r, c, channel);
    }
  });
  HostFrames y(kFrames, kHeight, kWidth, kOut), products(kFrames, kHeight, kWidth, kOut);
  test::OpRunner().run([&](const Context& context) {
    conv3d(context, weights, x.view, y.view);
    conv3d(context, of_patches, patches.view, products.view);
  });
  EXPECT_EQ(products.values, y.values);
}

Conv3dProblem problem(std::int64_t in, std::int64_t out) {
  return {.frames = 1,
          .height = 2,
          .width = 2,
          .in_channels = in,
          .out_channels = out,
          .kernel = {kTime, 3, 3}};
}

TEST(ByTaps, TakesOnlyAFewChannels) {
  const Conv3dProblem taken = problem(64, 12);
  EXPECT_EQ(refuse_by_taps(taken), std::nullopt);
  EXPECT_EQ(products_of_taps(taken).out_channels, kTapChannels);
  EXPECT_EQ(products_of_taps(taken).kernel, (KernelSize{3, 1, 1}));
  for (const std::int64_t channels : {3, 16, 256}) {
    EXPECT_EQ(refuse_by_taps(problem(64, channels)), "to 4, 8 or 12 channels only") << channels;
  }
}

TEST(ByPatches, TakesOnlyAFewChannels) {
  const Conv3dProblem taken = problem(48, 1024);
  EXPECT_EQ(refuse_by_patches(taken), std::nullopt);
  EXPECT_EQ(products_of_patches(taken).in_channels, 448);
  EXPECT_EQ(products_of_patches(taken).kernel, (KernelSize{3, 1, 1}));
  for (const std::int64_t channels : {12, 72, 256}) {
    EXPECT_EQ(refuse_by_patches(problem(channels, 1024)), "from 8 k channels, at most 64, only")
        << channels;
  }
}

TEST(TwoSteps, AreForKernelsOf3By3AndNothingElse) {
  Conv3dProblem other = problem(48, 12);
  other.accumulate = true;
  EXPECT_EQ(refuse_by_taps(other), "no residual and no shifts");
  EXPECT_EQ(refuse_by_patches(other), "no residual and no shifts");
  other.kernel = {3, 1, 1};
  EXPECT_EQ(refuse_by_taps(other), "3 x 3 in space only");
  EXPECT_EQ(refuse_by_patches(other), "3 x 3 in space only");
}

}  // namespace
}  // namespace pantograph::ops
