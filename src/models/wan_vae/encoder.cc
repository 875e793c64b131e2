#include "models/wan_vae/encoder.h"

#include "ops/downsample/downsample.h"

namespace pantograph::wan_vae {

Downsampler::Downsampler(const TensorSource& source, const std::string& name,
                         const DownLevel& level)
    : spatial_(source.convolution(name + ".resample.1")) {
  if (level.temporal_downsample) temporal_.emplace(source.convolution(name + ".time_conv"));
}

Frames Downsampler::apply(const Pass& pass, const FramesView& x, bool first) const {
  const std::int64_t history = temporal_ ? temporal_->kernel().time - 1 : 0;
  Frames halved(*pass.ops.arena, pass.dtype, x.frames, x.height / 2, x.width / 2, x.channels,
                history);
  {
    // At stride 1, of which a quarter is kept: 5 % more arithmetic for the whole encoder than a
    // convolution of stride 2, and no second kind of convolution.
    const Frames full = pass.frames(x, x.channels);
    ops::conv3d(pass.ops, spatial_, x, full.view());
    ops::take_odd_positions(pass.ops, full.view(), halved.view());
  }
  if (!temporal_) return halved;
  pass.state->restore(pass.ops, this, halved.view(), history);
  pass.state->save(pass.ops, this, halved.view(), history);
  if (first) return halved;
  const Frames full = pass.frames(halved.view(), x.channels);
  ops::conv3d(pass.ops, *temporal_, halved->slice(-history, x.frames + history), full.view());
  Frames y(*pass.ops.arena, pass.dtype, x.frames / 2, halved->height, halved->width, x.channels);
  ops::take_odd_frames(pass.ops, full.view(), y.view());
  return y;
}

Encoder::Encoder(const VaeConfig& config, const Checkpoint& checkpoint)
    : Encoder(config, TensorSource(checkpoint)) {}

Encoder::Encoder(const VaeConfig& config, const TensorSource& source)
    : patch_(config.patch_size),
      levels_(encoder_levels(config)),
      conv_in_(source.convolution("encoder.conv_in")),
      mid_first_(source, "encoder.mid_block.resnets.0"),
      mid_attention_(source, "encoder.mid_block.attentions.0"),
      mid_second_(source, "encoder.mid_block.resnets.1"),
      conv_out_(source, "encoder.norm_out", "encoder.conv_out"),
      quant_conv_(source.convolution("quant_conv")) {
  down_blocks_.resize(levels_.size());
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const std::string name = "encoder.down_blocks." + std::to_string(i);
    for (std::int64_t j = 0; j < config.residual_blocks; ++j) {
      down_blocks_[i].residual.emplace_back(source, name + ".resnets." + std::to_string(j));
    }
    if (levels_[i].downsample) {
      down_blocks_[i].downsampler.emplace(source, name + ".downsampler", levels_[i]);
    }
  }
}

Frames Encoder::encode(const Pass& pass, const FramesView& pixels, bool first) const {
  Arena& arena = *pass.ops.arena;
  const std::int64_t history = conv_in_.kernel().time - 1;
  Frames folded(arena, pass.dtype, pixels.frames, pixels.height / patch_, pixels.width / patch_,
                conv_in_.in_channels(), history);
  ops::patchify(pass.ops, pixels, patch_, folded.view());
  pass.state->restore(pass.ops, &conv_in_, folded.view(), history);
  pass.state->save(pass.ops, &conv_in_, folded.view(), history);
  Frames x = pass.frames(folded.view(), conv_in_.out_channels());
  ops::conv3d(pass.ops, conv_in_, folded->slice(-history, pixels.frames + history), x.view());
  folded.release();

  for (std::size_t i = 0; i < levels_.size(); ++i) x = level(pass, i, std::move(x), first);
  mid_first_.apply_in_place(pass, x.view());
  mid_attention_.apply_in_place(pass, x.view());
  mid_second_.apply_in_place(pass, x.view());

  Frames moments = pass.frames(x.view(), conv_out_.out_channels());
  {
    const Frames prepared = conv_out_.prepare(pass, x.view());
    x.release();
    conv_out_.convolve(pass, prepared.view(), moments.view());
  }
  Frames quantized = pass.frames(moments.view(), quant_conv_.out_channels());
  ops::conv3d(pass.ops, quant_conv_, moments.view(), quantized.view());
  return quantized;
}

Frames Encoder::level(const Pass& pass, std::size_t index, Frames input, bool first) const {
  const DownBlock& block = down_blocks_[index];
  const DownLevel& level = levels_[index];
  const ResidualBlock& front = block.residual.front();
  Frames prepared = front.first().prepare(pass, input.view());
  Frames x = front.apply(pass, input, ResidualBlock::Keep::kYes, std::move(prepared), 0, nullptr).y;
  for (std::size_t i = 1; i < block.residual.size(); ++i) {
    block.residual[i].apply_in_place(pass, x.view());
  }
  if (block.downsampler) x = block.downsampler->apply(pass, x.view(), first);
  ops::add_averaged(pass.ops, input.view(), level.temporal_downsample ? 2 : 1,
                    level.downsample ? 2 : 1, x.view());
  return x;
}

}  // namespace pantograph::wan_vae
