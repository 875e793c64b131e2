#include "ops/conv3d/cuda_direct.h"
#include "device/check.h"
#include "kernels/wan_vae/conv3d_direct.h"
#include "ops/conv3d/cuda.h"

namespace pantograph::ops {
namespace {

class DirectPlan final : public Conv3dPlan {
 public:
  DirectPlan(const Conv3dProblem& problem, const Conv3dWeights& weights)
      : problem_(problem), weights_(weights) {}

  [[nodiscard]] std::size_t weight_bytes() const override {
    return cuda_weight_bytes(weights_, problem_.dtype);
  }
  [[nodiscard]] std::size_t bytes_to_pack() const override {
    return cuda_bytes_to_pack(weights_, problem_.dtype);
  }

  void load_weights() override { packed_ = cuda_weights(weights_, problem_.dtype); }
  void prepare(const Scratch& /*scratch*/) override { load_weights(); }
  void run(const FramesView& x, const FramesView& y, std::byte* /*workspace*/,
           void* stream) const override {
    kernels::Conv3dDirect direct = describe_direct(problem_);
    direct.positions = y.positions();
    direct.x = x.data;
    direct.weights = packed_->weights.data();
    direct.bias = reinterpret_cast<const float*>(packed_->bias.data());
    direct.y = y.data;
    device::check(kernels::conv3d_direct(direct, static_cast<cudaStream_t>(stream)));
  }

 private:
  Conv3dProblem problem_;
  const Conv3dWeights& weights_;
  std::shared_ptr<const CudaWeights> packed_;
};

class Direct final : public Conv3dImplementation {
 public:
  [[nodiscard]] std::string name() const override { return "cuda direct"; }
  [[nodiscard]] bool slow(const Conv3dProblem& problem) const override {
    return problem.dtype == DType::kBF16;  // without tensor cores
  }
  [[nodiscard]] std::optional<std::string> refuses(const Conv3dProblem& problem,
                                                   const Device& device) const override {
    if (device.kind != DeviceKind::kCuda) return "runs on a GPU only";
    if (problem.dtype != DType::kF32 && problem.dtype != DType::kBF16) return "f32 and bf16 only";
    return std::nullopt;
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    return std::make_unique<DirectPlan>(problem, weights);
  }
};

}  // namespace

kernels::Conv3dDirect describe_direct(const Conv3dProblem& problem) {
  return {.dtype = problem.dtype,
          .frames = problem.frames,
          .height = problem.height,
          .width = problem.width,
          .in_channels = problem.in_channels,
          .out_channels = problem.out_channels,
          .kernel_time = problem.kernel.time,
          .kernel_height = problem.kernel.height,
          .kernel_width = problem.kernel.width,
          .rows_above = problem.kernel.height / 2 - problem.shift.rows,
          .columns_left = problem.kernel.width / 2 - problem.shift.columns,
          .accumulate = problem.accumulate};
}

const Conv3dImplementation& cuda_direct_conv3d() {
  static const Direct instance;
  return instance;
}

}  // namespace pantograph::ops
