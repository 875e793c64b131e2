// Convolutions that are one product of matrices over shifted rows, on Hopper: those of one pixel,
// and those to so few channels that all their taps in space fit a narrow product.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>

#include "core/convert.h"
#include "device/check.h"
#include "kernels/hopper/component_gemm.h"
#include "kernels/wan_vae/launch.h"
#include "ops/conv3d/cuda.h"

namespace pantograph::ops {
namespace {

constexpr std::int64_t kDepthStep = 64, kColumnStep = 256;  // of channels in and out
constexpr std::int64_t kNarrow = 128;                       // columns of the narrow product
constexpr std::int64_t kTaps = 9;                           // in space
constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

kernels::ComponentGemm describe(const Conv3dProblem& p, const FramesView& x) {
  const std::int64_t plane = p.height * p.width;
  return {.dtype = DType::kBF16,
          .components = 1,
          .a_components = 1,
          .rows = p.frames * plane,
          .a_rows = x.frames * plane,
          .in_channels = p.in_channels,
          .taps = p.kernel.time,
          .tap_rows = plane,
          .a = x.data};
}

// 1 x 1 in space.
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
  void load_weights() override { packed_ = cuda_weights(weights_, problem_.dtype); }
  void prepare(const Scratch& /*scratch*/) override { load_weights(); }
  void run(const FramesView& x, const FramesView& y, std::byte* /*workspace*/,
           void* stream) const override {
    kernels::ComponentGemm gemm = describe(problem_, x);
    gemm.y_dtype = DType::kBF16;
    gemm.out_channels = problem_.out_channels;
    gemm.b = packed_->weights.data();
    gemm.bias = reinterpret_cast<const float*>(packed_->bias.data());
    gemm.y = y.data;
    device::check(kernels::component_gemm(gemm, static_cast<cudaStream_t>(stream)));
  }

 private:
  Conv3dProblem problem_;
  const Conv3dWeights& weights_;
  std::shared_ptr<const CudaWeights> packed_;
};

struct NarrowWeights final : GpuPack {
  device::Memory weights, bias;  // [kNarrow: space, out][time][in] in bf16, [out] in f32
};

void pack_narrow(const Conv3dWeights& weights, NarrowWeights& pack) {
  const std::int64_t in = weights.in_channels(), out = weights.out_channels();
  const std::int64_t time = weights.kernel().time;
  const std::vector<float> values = weights.weight().to_f32();
  std::vector<float> sorted(static_cast<std::size_t>(kNarrow * time * in));
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const std::int64_t space = i % kTaps, t = i / kTaps % time, c = i / kTaps / time % in;
    const std::int64_t o = i / kTaps / time / in;
    sorted[static_cast<std::size_t>(((space * out + o) * time + t) * in + c)] =
        values[static_cast<std::size_t>(i)];
  }
  std::vector<std::byte> rounded(sorted.size() * size_of(DType::kBF16));
  convert_from_f32(sorted.data(), DType::kBF16, rounded.data(), std::ssize(sorted));
  pack.weights = on_gpu(pack.device, rounded);
  pack.bias = on_gpu(pack.device, weights.bias());
}

// 3 x 3 in space: the products of all its taps, and then their sums.
class NarrowPlan final : public Conv3dPlan {
 public:
  NarrowPlan(const Conv3dProblem& problem, const Conv3dWeights& weights)
      : problem_(problem), weights_(weights) {}

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(problem_.frames * problem_.height * problem_.width * kNarrow) *
           size_of(DType::kF16);
  }
  [[nodiscard]] std::size_t weight_bytes() const override {
    return static_cast<std::size_t>(kNarrow * problem_.kernel.time * problem_.in_channels) *
               size_of(DType::kBF16) +
           weights_.bias().size() * sizeof(float);
  }
  [[nodiscard]] std::size_t bytes_to_pack() const override {
    return is_packed_on_gpu<NarrowWeights>(weights_, kAnyPack) ? 0 : weight_bytes();
  }
  void load_weights() override {
    pack_ = packed_on_gpu<NarrowWeights>(weights_, kAnyPack,
                                         [&](NarrowWeights& pack) { pack_narrow(weights_, pack); });
  }
  void prepare(const Scratch& /*scratch*/) override { load_weights(); }
  void run(const FramesView& x, const FramesView& y, std::byte* workspace,
           void* stream) const override {
    kernels::ComponentGemm gemm = describe(problem_, x);
    gemm.y_dtype = DType::kF16;
    gemm.out_channels = kNarrow;
    gemm.b = pack_->weights.data();
    gemm.y = workspace;
    device::check(kernels::component_gemm(gemm, static_cast<cudaStream_t>(stream)));
    device::check(kernels::sum_taps({.frames = y.frames,
                                     .height = y.height,
                                     .width = y.width,
                                     .channels = y.channels,
                                     .part_channels = kNarrow,
                                     .parts = workspace,
                                     .bias = reinterpret_cast<const float*>(pack_->bias.data()),
                                     .y = y.data},
                                    static_cast<cudaStream_t>(stream)));
  }

 private:
  Conv3dProblem problem_;
  const Conv3dWeights& weights_;
  std::shared_ptr<const NarrowWeights> pack_;
};

bool is_narrow(const Conv3dProblem& p) {
  return p.kernel.height == 3 && p.kernel.width == 3 && p.out_channels % 4 == 0 &&
         kTaps * p.out_channels <= kNarrow;
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
    if (p.accumulate || p.shift != KernelShift{}) return "no residual and no shifts";
    const bool pixel = p.kernel.height == 1 && p.kernel.width == 1;
    if (!is_narrow(p) && (!pixel || p.out_channels % kColumnStep != 0)) {
      return "1 x 1 to 256 k channels, or 3 x 3 to few";
    }
    if (p.in_channels % kDepthStep != 0) return "from 64 k channels only";
    std::int64_t rows = p.frames + p.kernel.time - 1;
    if (!checked_multiply(rows, p.height, rows) || !checked_multiply(rows, p.width, rows) ||
        rows >= kMostRows) {
      return "more positions than 32 bits count";
    }
    return std::nullopt;
  }
  // Partial sums are kept as f16.
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
    if (std::sqrt(taps * squares) * *weights.input_norm() <= kSafeF16) return std::nullopt;
    return "f16 could overflow";
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    if (is_narrow(problem)) return std::make_unique<NarrowPlan>(problem, weights);
    return std::make_unique<PixelPlan>(problem, weights);
  }
};

}  // namespace

const Conv3dImplementation& hopper_gemm_conv3d() {
  static const HopperGemm instance;
  return instance;
}

}  // namespace pantograph::ops
