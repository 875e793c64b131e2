// bf16 convolutions by cuDNN: weights, workspace and the engine that engine_choice.cc finds.
#include "device/check.h"
#include "kernels/wan_vae/launch.h"
#include "ops/conv3d/cuda.h"
#include "ops/conv3d/engine_choice.h"

namespace pantograph::ops {
namespace {

class CudnnPlan final : public Conv3dPlan {
 public:
  CudnnPlan(const Conv3dProblem& problem, const Conv3dWeights& weights)
      : problem_(problem), weights_(weights) {
    problem_.out_channels = padded_channels(problem.out_channels);
    narrowed_ = problem_.out_channels != problem.out_channels;
    // A narrower y is written by a kernel of ours, which adds the residual too.
    if (narrowed_) problem_.accumulate = false;
    accumulate_ = problem.accumulate;
    choice_.emplace(problem_, narrowed_);
  }

  // The limit for every engine, whichever is chosen later: so the plan of memory stays as it was.
  [[nodiscard]] std::size_t workspace_bytes() const override {
    return cudnn::kWorkspaceLimit + (narrowed_ ? wide_bytes() : 0);
  }

  [[nodiscard]] std::size_t weight_bytes() const override {
    return cuda_weight_bytes(weights_, problem_.dtype);
  }
  [[nodiscard]] std::size_t bytes_to_pack() const override {
    return cuda_bytes_to_pack(weights_, problem_.dtype);
  }

  void load_weights() override { packed_ = cuda_weights(weights_, problem_.dtype); }

  bool begin() override { return choice_->begin(); }
  void wait() override { choice_->wait(); }

  void prepare(const Scratch& scratch) override {
    load_weights();
    engine_ = choice_->finish(*packed_, scratch);
    choice_.reset();
  }

  void run(const FramesView& x, const FramesView& y, std::byte* workspace,
           void* stream) const override {
    std::byte* target = narrowed_ ? workspace + cudnn::kWorkspaceLimit : y.data;
    engine_->plan.run({.x = x.data,
                       .weights = packed_->weights.data(),
                       .bias = packed_->bias.data(),
                       .y = target,
                       .workspace = workspace},
                      stream);
    if (engine_->fused) return;
    device::check(
        kernels::bias_residual({.dtype = problem_.dtype,
                                .rows = y.positions(),
                                .channels = y.channels,
                                .x_channels = problem_.out_channels,
                                .accumulate = accumulate_,
                                .x = target,
                                .bias = reinterpret_cast<const float*>(packed_->bias.data()),
                                .y = y.data},
                               static_cast<cudaStream_t>(stream)));
  }

 private:
  [[nodiscard]] std::size_t wide_bytes() const {
    return static_cast<std::size_t>(problem_.frames * problem_.height * problem_.width *
                                    problem_.out_channels) *
           size_of(problem_.dtype);
  }

  Conv3dProblem problem_;  // as cuDNN gets it
  bool narrowed_ = false, accumulate_ = false;
  const Conv3dWeights& weights_;
  std::shared_ptr<const CudaWeights> packed_;
  std::optional<cudnn::EngineChoice> choice_;  // until it is made
  std::shared_ptr<const cudnn::Engine> engine_;
};

class Cudnn final : public Conv3dImplementation {
 public:
  [[nodiscard]] std::string name() const override { return "cudnn"; }
  [[nodiscard]] std::optional<std::string> refuses(const Conv3dProblem& problem,
                                                   const Device& device) const override {
    // Beyond this some versions of cuDNN are silently wrong.
    constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
    constexpr std::int64_t kFew = std::int64_t{64} * 64;  // weights
    if (device.kind != DeviceKind::kCuda) return "runs on a GPU only";
    if (problem.dtype != DType::kBF16) return "bf16 only";
    if (problem.in_channels % 8 != 0) return "channels in multiples of 8 only";
    if (problem.kernel == KernelSize{} && problem.in_channels * problem.out_channels <= kFew) {
      return "so few weights want no engine";
    }
    const std::int64_t plane = problem.height * problem.width;
    const std::int64_t frames = problem.frames + problem.kernel.time - 1;
    if (frames * plane * problem.in_channels >= kMostElements ||
        frames * plane * padded_channels(problem.out_channels) >= kMostElements) {
      return "tensors of less than 2^31 elements only";
    }
    try {
      cudnn::version();
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    return std::make_unique<CudnnPlan>(problem, weights);
  }
};

}  // namespace

const Conv3dImplementation& cudnn_conv3d() {
  static const Cudnn instance;
  return instance;
}

}  // namespace pantograph::ops
