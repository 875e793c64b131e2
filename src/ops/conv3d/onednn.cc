#include "ops/conv3d/onednn.h"

#include <atomic>
#include <cstring>
#include <string_view>

#include "core/log.h"
#include "core/memory.h"
#include "ops/onednn/adapter.h"

namespace pantograph::ops {
namespace {

using dnnl::memory;

// One layout of a convolution's weights. Named when the first plan asks for it, filled when that
// plan is prepared, so that planning alone packs nothing.
struct OneDnnWeights final : PackedWeights {
  explicit OneDnnWeights(memory::desc layout) : desc(std::move(layout)) {}
  memory::desc desc;
  std::once_flag filled;
  std::atomic<bool> full = false;
  Buffer values;
};

memory::desc weights_desc(const Conv3dProblem& p, memory::format_tag tag) {
  return {{p.out_channels, p.in_channels, p.kernel.time, p.kernel.height, p.kernel.width},
          memory::data_type::f32,
          tag};
}

dnnl::convolution_forward::primitive_desc describe(const Conv3dProblem& p,
                                                   const memory::desc& weights) {
  constexpr auto kF32 = memory::data_type::f32;
  constexpr auto kChannelsLast = memory::format_tag::ndhwc;
  const memory::desc source({1, p.in_channels, p.frames + p.kernel.time - 1, p.height, p.width},
                            kF32, kChannelsLast);
  const memory::desc target({1, p.out_channels, p.frames, p.height, p.width}, kF32, kChannelsLast);
  const memory::desc bias({p.out_channels}, kF32, memory::format_tag::a);
  dnnl::primitive_attr attributes = onednn::attributes();
  if (p.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  return onednn::convolution(source, weights, bias, target,
                             {0, p.kernel.height / 2, p.kernel.width / 2}, attributes);
}

bool is_reference(const dnnl::convolution_forward::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

class OneDnnPlan final : public Conv3dPlan {
 public:
  OneDnnPlan(const Conv3dProblem& problem, const Conv3dWeights& weights) : weights_(weights) {
    // oneDNN picks the layout of the weights by the shape of the frames too. A layout that is there
    // is kept unless this shape would then run on oneDNN's reference loops.
    packed_ = std::static_pointer_cast<OneDnnWeights>(weights.packed(
        [&](const PackedWeights& candidate) {
          const auto* packed = dynamic_cast<const OneDnnWeights*>(&candidate);
          if (packed == nullptr) return false;
          description_ = describe(problem, packed->desc);
          return !is_reference(description_);
        },
        [&] {
          description_ = describe(problem, weights_desc(problem, memory::format_tag::any));
          return std::make_shared<OneDnnWeights>(description_.weights_desc());
        }));
    log(LogLevel::kDebug, "conv3d: ", problem.in_channels, " -> ", problem.out_channels, " on ",
        problem.frames, " x ", problem.height, " x ", problem.width, " by ",
        description_.impl_info_str());
    plain_ = weights_desc(problem, memory::format_tag::abcde);
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return description_.scratchpad_desc().get_size();
  }

  [[nodiscard]] std::size_t weight_bytes() const override { return packed_->desc.get_size(); }
  [[nodiscard]] std::size_t bytes_to_pack() const override {
    return packed_->full ? 0 : weight_bytes();
  }

  void prepare(const Scratch& /*scratch*/) override {
    std::call_once(packed_->filled, [&] { fill(); });
    primitive_ = onednn::translated([&] { return dnnl::convolution_forward(description_); });
  }

  void run(const FramesView& x, const FramesView& y, std::byte* workspace,
           void* /*stream*/) const override {
    const dnnl::engine& engine = onednn::cpu_engine();
    // oneDNN takes mutable pointers to what it only reads.
    auto* bias = const_cast<float*>(weights_.bias().data());
    onednn::execute(
        primitive_,
        {{DNNL_ARG_SRC, memory(description_.src_desc(), engine, x.data)},
         {DNNL_ARG_WEIGHTS, memory(packed_->desc, engine, packed_->values.data())},
         {DNNL_ARG_BIAS, memory(description_.bias_desc(), engine, bias)},
         {DNNL_ARG_DST, memory(description_.dst_desc(), engine, y.data)},
         {DNNL_ARG_SCRATCHPAD, memory(description_.scratchpad_desc(), engine, workspace)}});
  }

 private:
  void fill() {
    const dnnl::engine& engine = onednn::cpu_engine();
    std::vector<float> values = weights_.weight().to_f32();
    packed_->values = Buffer(packed_->desc.get_size());
    memory source(plain_, engine, values.data());
    memory target(packed_->desc, engine, packed_->values.data());
    onednn::reorder(source, target);
    weights_.weight().release_pages();
    packed_->full = true;
  }

  const Conv3dWeights& weights_;
  std::shared_ptr<OneDnnWeights> packed_;
  memory::desc plain_;
  dnnl::convolution_forward::primitive_desc description_;
  dnnl::convolution_forward primitive_;
};

class OneDnn final : public Conv3dImplementation {
 public:
  [[nodiscard]] std::string name() const override { return "onednn"; }
  [[nodiscard]] std::optional<std::string> refuses(const Conv3dProblem& problem,
                                                   const Device& device) const override {
    if (device.kind != DeviceKind::kCpu) return "runs on the CPU only";
    if (problem.kernel.height % 2 == 0 || problem.kernel.width % 2 == 0) return "odd kernels only";
    return std::nullopt;
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    return std::make_unique<OneDnnPlan>(problem, weights);
  }
};

}  // namespace

const Conv3dImplementation& onednn_conv3d() {
  static const OneDnn instance;
  return instance;
}

}  // namespace pantograph::ops
