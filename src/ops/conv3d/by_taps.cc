#include "ops/conv3d/by_taps.h"

#include <algorithm>
#include <array>

#include "device/check.h"
#include "kernels/wan_vae/launch.h"
#include "ops/conv3d/cuda.h"
#include "ops/conv3d/two_steps.h"

namespace pantograph::ops {
namespace {

constexpr std::int64_t kMiddleTap = kTapsInSpace / 2;

class ByTapsPlan final : public TwoStepPlan {
 public:
  ByTapsPlan(const Conv3dProblem& problem, const Conv3dWeights& weights,
             const Conv3dImplementation& products, DType dtype)
      : TwoStepPlan(products, products_of_taps(problem), derived_weights(weights, weights_of_taps),
                    {.dtype = dtype,
                     .frames = problem.frames,
                     .height = problem.height,
                     .width = problem.width,
                     .channels = kTapChannels}) {}

  void run(const FramesView& x, const FramesView& y, std::byte* workspace,
           void* stream) const override {
    const FramesView products = between(workspace);
    step().run(x, products, workspace, stream);
    device::check(kernels::sum_taps({.dtype = products.dtype,
                                     .frames = y.frames,
                                     .height = y.height,
                                     .width = y.width,
                                     .channels = y.channels,
                                     .part_channels = kTapChannels,
                                     .parts = products.data,
                                     .y = y.data},
                                    static_cast<cudaStream_t>(stream)));
  }
};

class CudnnByTaps final : public Conv3dImplementation {
 public:
  [[nodiscard]] std::string name() const override { return "cudnn by taps"; }
  [[nodiscard]] std::optional<std::string> refuses(const Conv3dProblem& problem,
                                                   const Device& device) const override {
    if (auto reason = refuse_by_taps(problem)) return reason;
    return cudnn_conv3d().refuses(products_of_taps(problem), device);
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    return plan_by_taps(problem, weights, cudnn_conv3d(), DType::kBF16);
  }
};

}  // namespace

std::optional<std::string> refuse_by_taps(const Conv3dProblem& p) {
  if (auto reason = refuse_two_steps(p)) return reason;
  if (p.out_channels % 4 != 0 || kTapsInSpace * p.out_channels > kTapChannels) {
    return "to 4, 8 or 12 channels only";
  }
  return std::nullopt;
}

Conv3dProblem products_of_taps(const Conv3dProblem& problem) {
  Conv3dProblem products = problem;
  products.out_channels = kTapChannels;
  products.kernel.height = products.kernel.width = 1;
  return products;
}

// [out, in, time, 3, 3] to [space * out, in, time, 1, 1].
Conv3dWeights weights_of_taps(const Conv3dWeights& weights) {
  const std::int64_t in = weights.in_channels(), out = weights.out_channels();
  const std::int64_t row = in * weights.kernel().time;
  const std::vector<float> values = weights.weight().to_f32();
  std::vector<float> sorted(static_cast<std::size_t>(kTapChannels * row));
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const std::int64_t tap = i % kTapsInSpace, o = i / kTapsInSpace / row;
    sorted[static_cast<std::size_t>((tap * out + o) * row + i / kTapsInSpace % row)] =
        values[static_cast<std::size_t>(i)];
  }
  std::vector<float> bias(static_cast<std::size_t>(kTapChannels));
  std::copy(weights.bias().begin(), weights.bias().end(), bias.begin() + kMiddleTap * out);
  const std::array<std::int64_t, 5> shape = {kTapChannels, in, weights.kernel().time, 1, 1};
  const std::array<std::int64_t, 1> bias_shape = {kTapChannels};
  return {Weight(std::move(sorted), shape), Weight(std::move(bias), bias_shape)};
}

std::unique_ptr<Conv3dPlan> plan_by_taps(const Conv3dProblem& problem, const Conv3dWeights& weights,
                                         const Conv3dImplementation& products, DType dtype) {
  return std::make_unique<ByTapsPlan>(problem, weights, products, dtype);
}

const Conv3dImplementation& cudnn_by_taps_conv3d() {
  static const CudnnByTaps instance;
  return instance;
}

}  // namespace pantograph::ops
