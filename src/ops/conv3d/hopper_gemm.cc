// Convolutions that are one product of matrices over shifted rows, on Hopper: those of one pixel,
// the products of taps of those to a few channels, and those of patches from a few.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>

#include "device/check.h"
#include "kernels/hopper/component_gemm.h"
#include "kernels/wan_vae/launch.h"
#include "ops/conv3d/by_patches.h"
#include "ops/conv3d/by_taps.h"
#include "ops/conv3d/cuda.h"

namespace pantograph::ops {
namespace {

constexpr std::int64_t kDepthStep = 64, kColumnStep = 256;  // of channels in and out
constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

// 1 x 1 in space. y is bf16, or f16 where it holds products of taps. Where something is added, the
// products go through the workspace.
class PixelPlan final : public Conv3dPlan {
 public:
  PixelPlan(const Conv3dProblem& problem, const Conv3dWeights& weights)
      : problem_(problem), weights_(weights) {}

  [[nodiscard]] std::size_t weight_bytes() const override {
    return cuda_weight_bytes(weights_, problem_.dtype);
  }
  [[nodiscard]] std::size_t bytes_to_pack() const override {
    return cuda_bytes_to_pack(weights_, problem_.dtype);
  }
  [[nodiscard]] std::size_t workspace_bytes() const override {
    if (!problem_.accumulate) return 0;
    return static_cast<std::size_t>(rows() * problem_.out_channels) * size_of(problem_.dtype);
  }
  void load_weights() override { packed_ = cuda_weights(weights_, problem_.dtype); }
  void prepare(const Scratch& /*scratch*/) override { load_weights(); }
  void run(const FramesView& x, const FramesView& y, std::byte* workspace,
           void* stream) const override {
    const auto* bias = reinterpret_cast<const float*>(packed_->bias.data());
    if (!problem_.accumulate) return multiply(x, bias, y.dtype, y.data, stream);
    multiply(x, nullptr, y.dtype, workspace, stream);
    device::check(kernels::bias_residual({.dtype = y.dtype,
                                          .rows = rows(),
                                          .channels = problem_.out_channels,
                                          .x_channels = problem_.out_channels,
                                          .accumulate = true,
                                          .x = workspace,
                                          .bias = bias,
                                          .y = y.data},
                                         static_cast<cudaStream_t>(stream)));
  }

 private:
  [[nodiscard]] std::int64_t rows() const {
    return problem_.frames * problem_.height * problem_.width;
  }
  void multiply(const FramesView& x, const float* bias, DType y_dtype, std::byte* y,
                void* stream) const {
    const std::int64_t plane = problem_.height * problem_.width;
    device::check(kernels::component_gemm({.dtype = DType::kBF16,
                                           .y_dtype = y_dtype,
                                           .components = 1,
                                           .a_components = 1,
                                           .rows = rows(),
                                           .a_rows = x.frames * plane,
                                           .in_channels = problem_.in_channels,
                                           .out_channels = problem_.out_channels,
                                           .taps = problem_.kernel.time,
                                           .tap_rows = plane,
                                           .a = x.data,
                                           .b = packed_->weights.data(),
                                           .bias = bias,
                                           .y = y},
                                          static_cast<cudaStream_t>(stream)));
  }

  Conv3dProblem problem_;
  const Conv3dWeights& weights_;
  std::shared_ptr<const CudaWeights> packed_;
};

bool is_narrow(const Conv3dProblem& p) {
  return !refuse_by_taps(p);
}
bool is_shallow(const Conv3dProblem& p) {
  return !refuse_by_patches(p);
}

class HopperGemm final : public Conv3dImplementation {
 public:
  [[nodiscard]] std::string name() const override { return "hopper gemm"; }
  [[nodiscard]] bool fast() const override { return true; }
  [[nodiscard]] std::optional<std::string> refuses(const Conv3dProblem& p,
                                                   const Device& device) const override {
    if (device.kind != DeviceKind::kCuda) return "runs on a GPU only";
    if (device::compute_capability(device.index) != 90) return "runs on Hopper only";
    if (p.dtype != DType::kBF16) return "bf16 only";
    if (p.shift != KernelShift{}) return "no shifts";
    const bool pixel = p.kernel.height == 1 && p.kernel.width == 1;
    const bool wide = p.out_channels % kColumnStep == 0, deep = p.in_channels % kDepthStep == 0;
    if (!(pixel && wide && deep) && !(is_narrow(p) && deep) && !(is_shallow(p) && wide)) {
      return "1 x 1 from 64 k to 256 k channels, or 3 x 3 from 64 k to few or from few to 256 k";
    }
    std::int64_t rows = p.frames + p.kernel.time - 1;
    if (!checked_multiply(rows, p.height, rows) || !checked_multiply(rows, p.width, rows) ||
        rows >= kMostRows) {
      return "more positions than 32 bits count";
    }
    return std::nullopt;
  }
  // Products of taps are kept as f16.
  [[nodiscard]] std::optional<std::string> refuses_weights(
      const Conv3dProblem& p, const Conv3dWeights& weights) const override {
    if (!is_narrow(p)) return std::nullopt;
    if (!weights.input_norm()) return "nothing bounds the input";
    const double squares = weights.kept("sum of squares", [&] {  // more than of any one filter
      double sum = 0;
      for (const float value : weights.weight().to_f32()) sum += double{value} * double{value};
      return sum;
    });
    const double taps = static_cast<double>(p.kernel.time);
    double bias = 0;
    for (const float value : weights.bias()) bias = std::max(bias, std::abs(double{value}));
    if (std::sqrt(taps * squares) * *weights.input_norm() + bias <= kSafeF16) return std::nullopt;
    return "f16 could overflow";
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    if (is_narrow(problem)) return plan_by_taps(problem, weights, *this, DType::kF16);
    if (is_shallow(problem)) return plan_by_patches(problem, weights, *this);
    return std::make_unique<PixelPlan>(problem, weights);
  }
};

}  // namespace

const Conv3dImplementation& hopper_gemm_conv3d() {
  static const HopperGemm instance;
  return instance;
}

}  // namespace pantograph::ops
