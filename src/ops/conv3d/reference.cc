// Convolution as plain loops in fp32: documentation, oracle and last resort.
#include "core/parallel.h"
#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {
namespace {

struct PlainWeights final : PackedWeights {
  std::vector<float> values;  // [out, in, kt, kh, kw]
};

class ReferencePlan final : public Conv3dPlan {
 public:
  ReferencePlan(const Conv3dProblem& problem, const Conv3dWeights& weights)
      : problem_(problem), weights_(weights) {}

  void prepare(const Scratch& /*scratch*/) override {
    plain_ = std::static_pointer_cast<PlainWeights>(weights_.packed(
        [](const PackedWeights& packed) {
          return dynamic_cast<const PlainWeights*>(&packed) != nullptr;
        },
        [&] {
          auto plain = std::make_shared<PlainWeights>();
          plain->values = weights_.weight().to_f32();
          return plain;
        }));
  }

  void run(const FramesView& x, const FramesView& y, std::byte* /*workspace*/,
           void* /*stream*/) const override {
    parallel_for(y.frames * y.height, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t column = 0; column < y.width; ++column) {
          position(x, y, row / y.height, row % y.height, column);
        }
      }
    });
  }

 private:
  void position(const FramesView& x, const FramesView& y, std::int64_t frame, std::int64_t row,
                std::int64_t column) const {
    const auto [kt, kh, kw] = problem_.kernel;
    float* out = y.f32() + ((frame * y.height + row) * y.width + column) * y.channels;
    for (std::int64_t o = 0; o < y.channels; ++o) {
      float sum = weights_.bias()[static_cast<std::size_t>(o)];
      for (std::int64_t dt = 0; dt < kt; ++dt) {
        for (std::int64_t dy = 0; dy < kh; ++dy) {
          for (std::int64_t dx = 0; dx < kw; ++dx) {
            const std::int64_t r = row + dy - kh / 2 + problem_.shift.rows;
            const std::int64_t c = column + dx - kw / 2 + problem_.shift.columns;
            if (r < 0 || r >= x.height || c < 0 || c >= x.width) continue;
            const float* in = x.f32() + (((frame + dt) * x.height + r) * x.width + c) * x.channels;
            const float* weight =
                plain_->values.data() + (((o * x.channels) * kt + dt) * kh + dy) * kw + dx;
            for (std::int64_t i = 0; i < x.channels; ++i) sum += in[i] * weight[i * kt * kh * kw];
          }
        }
      }
      out[o] = problem_.accumulate ? out[o] + sum : sum;
    }
  }

  Conv3dProblem problem_;
  const Conv3dWeights& weights_;
  std::shared_ptr<PlainWeights> plain_;
};

class Reference final : public Conv3dImplementation {
 public:
  [[nodiscard]] std::string name() const override { return "reference"; }
  [[nodiscard]] std::optional<std::string> refuses(const Conv3dProblem& /*problem*/,
                                                   const Device& device) const override {
    if (device.kind != DeviceKind::kCpu) return "runs on the CPU only";
    return std::nullopt;
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    return std::make_unique<ReferencePlan>(problem, weights);
  }
};

}  // namespace

const Conv3dImplementation& reference_conv3d() {
  static const Reference instance;
  return instance;
}

}  // namespace pantograph::ops
