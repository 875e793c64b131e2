#include "models/wan_vae/decoder.h"

#include <algorithm>

#include "ops/attention/attention.h"
#include "ops/copy/copy.h"
#include "ops/latent_frames/latent_frames.h"

namespace pantograph::wan_vae {

Decoder::Decoder(const VaeConfig& config, const Checkpoint& checkpoint)
    : Decoder(config, TensorSource(checkpoint)) {}

Decoder::Decoder(const VaeConfig& config, const TensorSource& source)
    : config_(config),
      levels_(decoder_levels(config)),
      latent_scale_({config.latents_std.begin(), config.latents_std.end()}),
      latent_shift_({config.latents_mean.begin(), config.latents_mean.end()}),
      ones_(std::vector<float>(config.latents_std.size(), 1.0F)),
      zeros_(std::vector<float>(config.latents_std.size(), 0.0F)),
      post_quant_conv_(source.convolution("post_quant_conv")),
      conv_in_(source.convolution("decoder.conv_in")),
      mid_first_(source, "decoder.mid_block.resnets.0"),
      mid_attention_(source, "decoder.mid_block.attentions.0"),
      mid_second_(source, "decoder.mid_block.resnets.1"),
      conv_out_(source, "decoder.norm_out", "decoder.conv_out") {
  up_blocks_.resize(levels_.size());
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const std::string name = "decoder.up_blocks." + std::to_string(i);
    for (std::int64_t j = 0; j <= config.residual_blocks; ++j) {
      up_blocks_[i].residual.emplace_back(source, name + ".resnets." + std::to_string(j));
    }
    if (levels_[i].upsample)
      up_blocks_[i].upsampler.emplace(source, name + ".upsampler", levels_[i]);
  }
}

void Decoder::decode(const Pass& pass, const PassSize& size, const TensorView& latents,
                     LatentScale scale, bool first, const Emit& emit) const {
  Arena& arena = *pass.ops.arena;
  const std::int64_t channels = config_.latent_channels, frames = latents.shape[1];
  const std::int64_t height = latents.shape[2], width = latents.shape[3];
  const std::int64_t history = conv_in_.kernel().time - 1;
  const bool normalized = scale == LatentScale::kNormalized;

  Frames loaded(arena, pass.dtype, frames, height, width, channels);
  ops::load_latents(pass.ops, latents, normalized ? latent_scale_ : ones_,
                    normalized ? latent_shift_ : zeros_, loaded.view());
  Frames z(arena, pass.dtype, frames, height, width, channels, history);
  ops::conv3d(pass.ops, post_quant_conv_, loaded.view(), z.view());
  loaded.release();
  pass.state->restore(pass.ops, &conv_in_, z.view(), history);
  pass.state->save(pass.ops, &conv_in_, z.view(), history);
  Frames x = pass.frames(z.view(), conv_in_.out_channels());
  ops::conv3d(pass.ops, conv_in_, z->slice(-history, frames + history), x.view());
  z.release();

  mid_first_.apply_in_place(pass, x.view());
  mid_attention_.apply_in_place(pass, x.view());
  Frames prepared = mid_second_.apply_in_place(
      pass, x.view(), mid_second_.first().prepare(pass, x.view()), &entry(0));
  level({pass, size, emit}, 0, std::move(x), std::move(prepared), first);
}

void Decoder::warm_up(const Pass& pass, std::int64_t height, std::int64_t width) const {
  if (pass.ops.device.kind != DeviceKind::kCuda) return;
  std::call_once(warm_, [&] {
    const std::int64_t channels = conv_in_.out_channels();
    const Frames qkv(*pass.ops.arena, pass.dtype, 1, height, width, 3 * channels);
    const Frames mixed(*pass.ops.arena, pass.dtype, 1, height, width, channels);
    ops::clear_frames(pass.ops, qkv.view());
    ops::frame_attention(pass.ops, qkv.view(), mixed.view());
  });
}

void Decoder::level(const Chunk& chunk, std::size_t index, Frames input, Frames prepared,
                    bool first) const {
  const Pass& pass = chunk.pass;
  const UpBlock& block = up_blocks_[index];
  const std::int64_t lead = block.upsampler ? block.upsampler->lead() : 0;
  const auto after = [&](std::size_t i) {
    return i + 1 < block.residual.size() ? &block.residual[i + 1].first()
                                         : (block.upsampler ? nullptr : &conv_out_);
  };
  using Keep = ResidualBlock::Keep;
  auto [x, next] = block.residual.front().apply(
      pass, input, block.upsampler ? Keep::kYes : Keep::kNo, std::move(prepared), lead, after(0));
  for (std::size_t i = 1; i < block.residual.size(); ++i) {
    next = block.residual[i].apply_in_place(pass, x.view(), std::move(next), after(i));
  }
  if (!block.upsampler) {
    x.release();
    pixels(chunk, std::move(next));
    return;
  }
  if (lead > 0) pass.state->restore(pass.ops, &*block.upsampler, x.view(), lead);
  const std::int64_t frames = x->frames, step = group(chunk.size, index, frames);
  for (std::int64_t begin = 0; begin < frames; begin += step) {
    const std::int64_t count = std::min(step, frames - begin);
    const bool leads = first && begin == 0;
    BlockOutput enlarged = block.upsampler->apply(pass, input->slice(begin, count),
                                                  x->slice(begin, count), leads, entry(index + 1));
    if (begin + count == frames) {
      if (lead > 0) pass.state->save(pass.ops, &*block.upsampler, x.view(), lead);
      input.release();
      x.release();
    }
    level(chunk, index + 1, std::move(enlarged.y), std::move(enlarged.prepared), leads);
  }
}

void Decoder::pixels(const Chunk& chunk, Frames prepared) const {
  const Pass& pass = chunk.pass;
  const Frames patches = pass.frames(prepared.view(), conv_out_.out_channels());
  conv_out_.convolve(pass, prepared.view(), patches.view());
  prepared.release();
  chunk.emit(pass, patches.view());
}

std::int64_t Decoder::group(const PassSize& size, std::size_t index, std::int64_t frames) const {
  // How many frames each of this level's becomes in the end; 1 from the last temporal resampler on.
  std::int64_t later = 1;
  for (std::size_t i = index + 1; i < levels_.size(); ++i)
    later *= levels_[i].temporal_upsample ? 2 : 1;
  if (size.group_frames == 0 || later > 1) return frames;
  const std::int64_t factor = levels_[index].temporal_upsample ? 2 : 1;
  return std::min(frames, std::max<std::int64_t>(1, size.group_frames / factor));
}

}  // namespace pantograph::wan_vae
