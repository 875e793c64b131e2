#include "models/wan_vae/blocks.h"

#include "ops/attention/attention.h"
#include "ops/copy/copy.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/upsample/upsample.h"

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

Frames NormedConvolution::prepare(const Pass& pass, const FramesView& x) const {
  const std::int64_t history = conv_.kernel().time - 1;
  Frames prepared = pass.frames(x, x.channels, history);
  ops::causal_rms_norm(pass.ops, x, gamma_, ops::Activation::kSilu, prepared.view(),
                       pass.state->history(this, prepared.view(), history));
  return prepared;
}

void NormedConvolution::convolve(const Pass& pass, const FramesView& prepared, const FramesView& y,
                                 const FramesView* residual) const {
  const std::int64_t history = conv_.kernel().time - 1;
  ops::conv3d(pass.ops, conv_, prepared.slice(-history, prepared.frames + history), y, residual);
}

ResidualBlock::ResidualBlock(const TensorSource& source, const std::string& name)
    : first_(source, name + ".norm1", name + ".conv1"),
      second_(source, name + ".norm2", name + ".conv2") {
  if (source.has(name + ".conv_shortcut.weight")) {
    shortcut_.emplace(source.convolution(name + ".conv_shortcut"));
  }
}

Frames ResidualBlock::inner(const Pass& pass, const FramesView& x) const {
  Frames hidden;
  {
    const Frames prepared = first_.prepare(pass, x);
    hidden = pass.frames(x, first_.out_channels());
    first_.convolve(pass, prepared.view(), hidden.view());
  }
  return second_.prepare(pass, hidden.view());
}

Frames ResidualBlock::apply(const Pass& pass, const FramesView& x, std::int64_t lead) const {
  const Frames prepared = inner(pass, x);
  Frames y = pass.frames(x, second_.out_channels(), lead);
  if (shortcut_) ops::conv3d(pass.ops, *shortcut_, x, y.view());
  second_.convolve(pass, prepared.view(), y.view(), shortcut_ ? &y.view() : &x);
  return y;
}

void ResidualBlock::apply_in_place(const Pass& pass, const FramesView& x) const {
  require(!shortcut_, "a residual block that changes channels cannot work in place");
  const Frames prepared = inner(pass, x);
  second_.convolve(pass, prepared.view(), x, &x);
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

Frames Upsampler::apply(const Pass& pass, const FramesView& input, const FramesView& x,
                        bool first) const {
  const std::int64_t factor = temporal_ ? 2 : 1;
  Frames y(*pass.ops.arena, pass.dtype, factor * x.frames - (first ? factor - 1 : 0), 2 * x.height,
           2 * x.width, x.channels);
  ops::duplicate_upsample(pass.ops, input, factor, first, y.view());
  if (!temporal_) {
    ops::enlarge(pass.ops, spatial_, x, y.view());
    return y;
  }
  const std::int64_t skipped = first ? 1 : 0;
  if (first) {
    ops::enlarge(pass.ops, spatial_, x.slice(0, 1), y->slice(0, 1));
    ops::clear_frames(pass.ops, x.slice(0, 1));
  }
  const FramesView rest = x.slice(skipped, x.frames - skipped);
  if (rest.frames > 0) {
    const Frames doubled = pass.frames(rest, 2 * x.channels);
    ops::conv3d(pass.ops, *temporal_, rest.slice(-lead(), rest.frames + lead()), doubled.view());
    ops::enlarge(pass.ops, spatial_, doubled.view(), y->slice(skipped, y->frames - skipped));
  }
  return y;
}

}  // namespace pantograph::wan_vae
