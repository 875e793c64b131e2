// What the Winograd convolution says before it is given a GPU.
#include <gtest/gtest.h>

#include "core/random.h"
#include "ops/conv3d/cuda.h"

namespace pantograph::ops {
namespace {

constexpr std::int64_t kIn = 256, kOut = 256;
constexpr Conv3dProblem kProblem{.frames = 1,
                                 .height = 6,
                                 .width = 6,
                                 .in_channels = kIn,
                                 .out_channels = kOut,
                                 .kernel = {3, 3, 3},
                                 .dtype = DType::kBF16};

// As trained ones are, times `scale`.
Conv3dWeights weights_of(float scale) {
  std::vector<float> values(static_cast<std::size_t>(kOut * kIn * 27));
  const Random random(1, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = scale * static_cast<float>(random.normal(i)) / 80;
  }
  const std::vector<std::int64_t> shape = {kOut, kIn, 3, 3, 3}, bias = {kOut};
  return {Weight(std::move(values), shape), Weight(std::vector<float>(kOut), bias)};
}

std::optional<std::string> refusal(float scale, std::optional<double> input_norm) {
  Conv3dWeights weights = weights_of(scale);
  if (input_norm) weights.set_input_norm(*input_norm);
  return winograd_conv3d().refuses_weights(kProblem, weights);
}

// After an RMS norm with a gamma of 1 the 256 channels have a norm of 16.
TEST(WinogradConv3d, TakesWeightsWhoseSumsF16Holds) {
  EXPECT_EQ(refusal(1, 16), std::nullopt);
}

TEST(WinogradConv3d, RefusesWhatCouldOverflowF16) {
  for (const auto& [scale, norm] :
       {std::pair{1.0F, 16e3}, {1e3F, 16.0}, {1e-6F, 1e5}, {1e8F, 1e-6}}) {
    const auto reason = refusal(scale, norm);
    ASSERT_TRUE(reason.has_value()) << scale << " " << norm;
    EXPECT_TRUE(reason->starts_with("values up to ") && reason->ends_with(" would overflow f16"))
        << *reason;
  }
}

TEST(WinogradConv3d, RefusesAnInputThatNothingBounds) {
  EXPECT_EQ(refusal(1, std::nullopt), "nothing bounds the input");
}

TEST(WinogradConv3d, RefusesACpu) {
  EXPECT_EQ(winograd_conv3d().refuses(kProblem, Device{}), "runs on a GPU only");
}

}  // namespace
}  // namespace pantograph::ops
