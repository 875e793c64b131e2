#include "ops/enlarge/enlarge.h"

#include "ops/cuda.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/upsample/upsample.h"

namespace pantograph::ops {
namespace {

// The first and the last of the three taps that fall on the first and the second pixel.
struct Taps {
  std::int64_t first, last;
};
constexpr Taps kTaps[2][2] = {{{0, 0}, {1, 2}},   // even outputs
                              {{0, 1}, {2, 2}}};  // odd ones

// [out, in, 3, 3] to [out, in, 2, 2].
std::vector<float> phase_weights(const std::vector<float>& whole, std::int64_t row,
                                 std::int64_t column) {
  std::vector<float> phase(whole.size() / 9 * 4);
  for (std::size_t filter = 0; filter < whole.size() / 9; ++filter) {
    for (std::int64_t at = 0; at < 4; ++at) {
      const Taps rows = kTaps[row][at / 2], columns = kTaps[column][at % 2];
      float sum = 0;
      for (std::int64_t y = rows.first; y <= rows.last; ++y) {
        for (std::int64_t x = columns.first; x <= columns.last; ++x) {
          sum += whole[filter * 9 + static_cast<std::size_t>(3 * y + x)];
        }
      }
      phase[filter * 4 + static_cast<std::size_t>(at)] = sum;
    }
  }
  return phase;
}

}  // namespace

EnlargeWeights::EnlargeWeights(const Weight& weight, const Weight& bias)
    : bias_(bias), whole_(weight, bias) {}

const Conv3dWeights& EnlargeWeights::phase(std::int64_t row, std::int64_t column) const {
  std::call_once(phases_->once, [&] {
    const std::vector<float> whole = whole_.weight().to_f32();
    const std::array<std::int64_t, 4> shape = {whole_.out_channels(), whole_.in_channels(), 2, 2};
    for (std::int64_t i = 0; i < 4; ++i) {
      phases_->weights.emplace_back(Weight(phase_weights(whole, i / 2, i % 2), shape), bias_);
    }
    whole_.weight().release_pages();
  });
  return phases_->weights[static_cast<std::size_t>(2 * row + column)];
}

geometry::DuplicateUpsample Enlargement::sizes() const {
  return {.frames = shortcut.frames,
          .height = shortcut.height,
          .width = shortcut.width,
          .in_channels = shortcut.channels,
          .out_channels = y.channels,
          .temporal_factor = temporal_factor,
          .skipped = first ? temporal_factor - 1 : 0};
}

bool enlarge_fuses(const Context& context, const EnlargeWeights& weights, const Enlargement& p) {
  return context.device.kind == DeviceKind::kCuda && context.algorithm != Algorithm::kGeneral &&
         cuda::enlarge_fuses(context, weights, p);
}

void enlarge(const Context& context, const EnlargeWeights& weights, const Enlargement& p,
             const NormedFrames& normed) {
  if (p.y.frames == 0) return;
  if (enlarge_fuses(context, weights, p)) {
    return cuda::enlarge_fused(context, weights, p, normed,
                               thrifty(cuda::kEnlargeWorkspace, context.thrift));
  }
  // f32 on a GPU is what bf16 is measured against: it takes the definition's way.
  if (context.device.kind == DeviceKind::kCuda && p.y.dtype == DType::kBF16) {
    cuda::enlarge(context, weights, p);
  } else {
    duplicate_upsample(context, p.shortcut, p.temporal_factor, p.first, p.y);
    const Frames enlarged(*context.arena, p.y.dtype, p.y.frames, p.y.height, p.y.width,
                          p.y.channels);
    nearest_upsample(context, p.x, enlarged.view());
    conv3d(context, weights.whole(), enlarged.view(), p.y, &p.y);
  }
  if (normed.gamma == nullptr) return;
  causal_rms_norm(context, p.y, *normed.gamma, Activation::kSilu, normed.y, normed.history);
}

}  // namespace pantograph::ops
