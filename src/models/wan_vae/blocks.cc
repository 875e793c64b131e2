#include "models/wan_vae/blocks.h"

#include <algorithm>
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/copy/copy.h"
#include "ops/rms_norm/rms_norm.h"

namespace pantograph::wan_vae {

ops::Conv3dWeights TensorSource::convolution(const std::string& name) const {
  return {Weight(checkpoint_.tensors.at(name + ".weight")),
          Weight(checkpoint_.tensors.at(name + ".bias"))};
}

ops::EnlargeWeights TensorSource::enlargement(const std::string& name) const {
  return {Weight(checkpoint_.tensors.at(name + ".weight")),
          Weight(checkpoint_.tensors.at(name + ".bias"))};
}

Parameter TensorSource::gamma(const std::string& name) const {
  return Weight(checkpoint_.tensors.at(name + ".gamma")).to_f32();
}

NormedConvolution::NormedConvolution(const TensorSource& source, const std::string& norm,
                                     const std::string& conv)
    : gamma_(source.gamma(norm)), conv_(source.convolution(conv)) {
  // The norm makes sqrt(C) of a position's channels, and SiLU brings each of them nearer to 0.
  double largest = 0;
  for (const float gamma : gamma_.values()) largest = std::max(largest, std::abs(double{gamma}));
  conv_.set_input_norm(std::sqrt(static_cast<double>(gamma_.size())) * largest);
}

Frames NormedConvolution::room(const Pass& pass, const FramesView& x) const {
  return pass.frames(x, x.channels, conv_.kernel().time - 1);
}

ops::NormedFrames NormedConvolution::normed(const Pass& pass, const FramesView& prepared) const {
  return {.gamma = &gamma_,
          .y = prepared,
          .history = pass.state->history(pass.ops, this, prepared, conv_.kernel().time - 1)};
}

Frames NormedConvolution::prepare(const Pass& pass, const FramesView& x) const {
  Frames prepared = room(pass, x);
  const ops::NormedFrames to = normed(pass, prepared.view());
  ops::causal_rms_norm(pass.ops, x, gamma_, ops::Activation::kSilu, to.y, to.history);
  return prepared;
}

void NormedConvolution::convolve(const Pass& pass, const FramesView& prepared, const FramesView& y,
                                 const FramesView* residual) const {
  const std::int64_t history = conv_.kernel().time - 1;
  ops::conv3d(pass.ops, conv_, prepared.slice(-history, prepared.frames + history), y, residual);
}

Frames NormedConvolution::convolve_for(const NormedConvolution& next, const Pass& pass,
                                       Frames prepared, const FramesView* y,
                                       const FramesView* residual) const {
  FramesView like = prepared.view();
  like.channels = conv_.out_channels();
  const FramesView history =
      pass.state->history(pass.ops, &next, like, next.conv_.kernel().time - 1);
  return ops::conv3d_normed(pass.ops, conv_, std::move(prepared), y, residual, next.gamma_,
                            history);
}

ResidualBlock::ResidualBlock(const TensorSource& source, const std::string& name)
    : first_(source, name + ".norm1", name + ".conv1"),
      second_(source, name + ".norm2", name + ".conv2") {
  first_.set_costly();
  second_.set_costly();
  if (source.has(name + ".conv_shortcut.weight")) {
    shortcut_.emplace(source.convolution(name + ".conv_shortcut"));
  }
}

BlockOutput ResidualBlock::apply(const Pass& pass, Frames& x, Keep keep, Frames prepared,
                                 std::int64_t lead, const NormedConvolution* next) const {
  BlockOutput result;
  const auto make_y = [&] { return pass.frames(x.view(), second_.out_channels(), lead); };
  if (shortcut_) {  // before x's larger companions, so that x need not stay with them
    result.y = make_y();
    ops::conv3d(pass.ops, *shortcut_, x.view(), result.y.view());
    if (keep == Keep::kNo) x.release();
  }
  Frames inner = first_.convolve_for(second_, pass, std::move(prepared), nullptr);
  if (!shortcut_) result.y = make_y();
  const FramesView& y = result.y.view();
  const FramesView* residual = shortcut_ ? &y : &x.view();
  if (next == nullptr) {
    second_.convolve(pass, inner.view(), y, residual);
  } else {
    result.prepared = second_.convolve_for(*next, pass, std::move(inner), &y, residual);
  }
  if (keep == Keep::kNo) x.release();
  return result;
}

Frames ResidualBlock::apply_in_place(const Pass& pass, const FramesView& x, Frames prepared,
                                     const NormedConvolution* next) const {
  require(!shortcut_, "a residual block that changes channels cannot work in place");
  Frames inner = first_.convolve_for(second_, pass, std::move(prepared), nullptr);
  if (next != nullptr) return second_.convolve_for(*next, pass, std::move(inner), &x, &x);
  second_.convolve(pass, inner.view(), x, &x);
  return {};
}

void ResidualBlock::apply_in_place(const Pass& pass, const FramesView& x) const {
  (void)apply_in_place(pass, x, first_.prepare(pass, x), nullptr);
}

AttentionBlock::AttentionBlock(const TensorSource& source, const std::string& name)
    : gamma_(source.gamma(name + ".norm")),
      to_qkv_(source.convolution(name + ".to_qkv")),
      proj_(source.convolution(name + ".proj")) {}

void AttentionBlock::apply_in_place(const Pass& pass, const FramesView& x) const {
  Frames qkv = pass.frames(x, 3 * x.channels);
  Frames mixed = pass.frames(x, x.channels);
  // The normalised x and what attention makes of it are never needed together.
  ops::rms_norm(pass.ops, x, gamma_, ops::Activation::kNone, mixed.view());
  ops::conv3d(pass.ops, to_qkv_, mixed.view(), qkv.view());
  ops::frame_attention(pass.ops, qkv.view(), mixed.view());
  qkv.release();
  ops::conv3d(pass.ops, proj_, mixed.view(), x, &x);
}

Upsampler::Upsampler(const TensorSource& source, const std::string& name, const Level& level)
    : spatial_(source.enlargement(name + ".resample.1")) {
  if (level.temporal_upsample) temporal_.emplace(source.convolution(name + ".time_conv"));
}

BlockOutput Upsampler::apply(const Pass& pass, const FramesView& input, const FramesView& x,
                             bool first, const NormedConvolution& next) const {
  const std::int64_t factor = temporal_ ? 2 : 1, skipped = first ? factor - 1 : 0;
  BlockOutput result;
  result.y = Frames(*pass.ops.arena, pass.dtype, factor * x.frames - skipped, 2 * x.height,
                    2 * x.width, x.channels);
  const FramesView& y = result.y.view();
  const bool fused = ops::enlarge_fuses(
      pass.ops, spatial_, {.x = x, .shortcut = input, .temporal_factor = factor, .y = y});
  if (fused) result.prepared = next.room(pass, y);
  // `count` frames of y from those of x that begin at `begin`.
  const auto enlarge = [&](const FramesView& source, std::int64_t begin, std::int64_t frame,
                           std::int64_t count) {
    const bool leads = first && begin == 0;
    const FramesView prepared = result.prepared->slice(frame, count);
    ops::enlarge(pass.ops, spatial_,
                 {.x = source,
                  .shortcut = input.slice(begin, source.frames),
                  .temporal_factor = factor,
                  .first = leads,
                  .y = y.slice(frame, count)},
                 fused ? next.normed(pass, prepared) : ops::NormedFrames{});
  };
  if (!temporal_) {
    enlarge(x, 0, 0, y.frames);
  } else {
    if (first) {
      enlarge(x.slice(0, 1), 0, 0, 1);
      ops::clear_frames(pass.ops, x.slice(0, 1));
    }
    const FramesView rest = x.slice(skipped, x.frames - skipped);
    if (rest.frames > 0) {
      const Frames doubled = pass.frames(rest, 2 * x.channels);
      ops::conv3d(pass.ops, *temporal_, rest.slice(-lead(), rest.frames + lead()), doubled.view());
      enlarge(doubled.view(), skipped, skipped, y.frames - skipped);
    }
  }
  if (!fused) result.prepared = next.prepare(pass, y);
  return result;
}

}  // namespace pantograph::wan_vae
