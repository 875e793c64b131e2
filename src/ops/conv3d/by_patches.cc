#include "ops/conv3d/by_patches.h"

#include <array>

#include "device/check.h"
#include "kernels/wan_vae/launch.h"
#include "ops/conv3d/two_steps.h"

namespace pantograph::ops {
namespace {

constexpr std::int64_t kDepthStep = 64;
// Patches of more would take longer to write than they save.
constexpr std::int64_t kMostChannels = 64;

class ByPatchesPlan final : public TwoStepPlan {
 public:
  ByPatchesPlan(const Conv3dProblem& problem, const Conv3dWeights& weights,
                const Conv3dImplementation& products)
      : TwoStepPlan(products, products_of_patches(problem),
                    derived_weights(weights, weights_of_patches),
                    {.dtype = DType::kBF16,
                     .frames = problem.frames + problem.kernel.time - 1,
                     .height = problem.height,
                     .width = problem.width,
                     .channels = patch_channels(problem.in_channels)}) {}

  void run(const FramesView& x, const FramesView& y, std::byte* workspace,
           void* stream) const override {
    const FramesView patches = between(workspace);
    device::check(kernels::gather_patches({.frames = x.frames,
                                           .height = x.height,
                                           .width = x.width,
                                           .channels = x.channels,
                                           .patch_channels = patches.channels,
                                           .x = x.data,
                                           .patches = patches.data},
                                          static_cast<cudaStream_t>(stream)));
    step().run(patches, y, workspace, stream);
  }
};

}  // namespace

std::int64_t patch_channels(std::int64_t in_channels) {
  return (kTapsInSpace * in_channels + kDepthStep - 1) / kDepthStep * kDepthStep;
}

std::optional<std::string> refuse_by_patches(const Conv3dProblem& p) {
  if (auto reason = refuse_two_steps(p)) return reason;
  if (p.in_channels % 8 != 0 || p.in_channels > kMostChannels) {
    return "from 8 k channels, at most 64, only";
  }
  return std::nullopt;
}

Conv3dProblem products_of_patches(const Conv3dProblem& problem) {
  Conv3dProblem products = problem;
  products.in_channels = patch_channels(problem.in_channels);
  products.kernel.height = products.kernel.width = 1;
  return products;
}

// [out, in, time, 3, 3] to [out, space * in, time, 1, 1].
Conv3dWeights weights_of_patches(const Conv3dWeights& weights) {
  const std::int64_t in = weights.in_channels(), out = weights.out_channels();
  const std::int64_t time = weights.kernel().time, channels = patch_channels(in);
  const std::vector<float> values = weights.weight().to_f32();
  std::vector<float> sorted(static_cast<std::size_t>(out * channels * time));
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const std::int64_t tap = i % kTapsInSpace, t = i / kTapsInSpace % time;
    const std::int64_t c = i / kTapsInSpace / time % in, o = i / kTapsInSpace / time / in;
    sorted[static_cast<std::size_t>((o * channels + tap * in + c) * time + t)] =
        values[static_cast<std::size_t>(i)];
  }
  const std::array<std::int64_t, 5> shape = {out, channels, time, 1, 1};
  const std::array<std::int64_t, 1> bias_shape = {out};
  return {Weight(std::move(sorted), shape), Weight(std::vector<float>(weights.bias()), bias_shape)};
}

std::unique_ptr<Conv3dPlan> plan_by_patches(const Conv3dProblem& problem,
                                            const Conv3dWeights& weights,
                                            const Conv3dImplementation& products) {
  return std::make_unique<ByPatchesPlan>(problem, weights, products);
}

}  // namespace pantograph::ops
