// Convolutions by their taps, with the first step on a CPU and the sums as kernels::SumTaps says.
#include "ops/conv3d/by_taps.h"

#include <gtest/gtest.h>

#include "op_test.h"

namespace pantograph::ops {
namespace {

using test::HostFrames;

constexpr std::int64_t kIn = 3, kOut = 4, kTime = 3, kFrames = 2, kHeight = 3, kWidth = 4;

Conv3dWeights whole_numbers() {
  HostFrames weight(kOut, kIn, kTime, 9), bias(1, 1, 1, kOut);
  weight.fill_whole(1);
  bias.fill_whole(2);
  const std::array<std::int64_t, 5> shape = {kOut, kIn, kTime, 3, 3};
  const std::array<std::int64_t, 1> bias_shape = {kOut};
  return {Weight(std::move(weight.values), shape), Weight(std::move(bias.values), bias_shape)};
}

TEST(ByTaps, SumsOfProductsAreTheConvolution) {
  const Conv3dWeights weights = whole_numbers(), of_taps = weights_of_taps(weights);
  HostFrames x(kFrames + kTime - 1, kHeight, kWidth, kIn);
  x.fill_whole(3);
  HostFrames y(kFrames, kHeight, kWidth, kOut);
  HostFrames products(kFrames, kHeight, kWidth, kTapChannels);
  test::OpRunner().run([&](const Context& context) {
    conv3d(context, weights, x.view, y.view);
    conv3d(context, of_taps, x.view, products.view);
  });
  for (std::int64_t i = 0; i < kFrames * kHeight * kWidth; ++i) {
    const std::int64_t t = i / (kHeight * kWidth), row = i / kWidth % kHeight, column = i % kWidth;
    for (std::int64_t o = 0; o < kOut; ++o) {
      float sum = 0;
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        const std::int64_t r = row + tap / 3 - 1, c = column + tap % 3 - 1;
        if (r < 0 || r >= kHeight || c < 0 || c >= kWidth) continue;
        sum += products.at(t, r, c, tap * kOut + o);
      }
      EXPECT_EQ(sum, y.at(t, row, column, o)) << t << " " << row << " " << column << " " << o;
    }
  }
}

TEST(ByTaps, TakesOnlyAFewChannels) {
  Conv3dProblem problem{.frames = 1,
                        .height = 2,
                        .width = 2,
                        .in_channels = 64,
                        .out_channels = 12,
                        .kernel = {3, 3, 3}};
  EXPECT_EQ(refuse_by_taps(problem), std::nullopt);
  const Conv3dProblem products = products_of_taps(problem);
  EXPECT_EQ(products.out_channels, kTapChannels);
  EXPECT_EQ(products.kernel, (KernelSize{3, 1, 1}));
  for (const std::int64_t channels : {3, 16, 256}) {
    problem.out_channels = channels;
    EXPECT_EQ(refuse_by_taps(problem), "to 4, 8 or 12 channels only") << channels;
  }
  problem.out_channels = 12;
  problem.accumulate = true;
  EXPECT_EQ(refuse_by_taps(problem), "no residual and no shifts");
  problem.kernel = {3, 1, 1};
  EXPECT_EQ(refuse_by_taps(problem), "3 x 3 in space only");
}

}  // namespace
}  // namespace pantograph::ops
