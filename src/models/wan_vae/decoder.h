// The Wan2.2 VAE decoder over a chunk of latent frames.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "models/wan_vae/blocks.h"

namespace pantograph::wan_vae {

// How much is worked on at once.
struct PassSize {
  std::int64_t latent_frames = 1;
  // Frames that the highest temporal rate hands on at a time, from the last temporal resampler
  // upwards; 0 hands on all. Those levels take nearly all the memory.
  std::int64_t group_frames = 0;
};

class Decoder {
 public:
  Decoder(const VaeConfig& config, const Checkpoint& checkpoint);

  // Receives the last layer's output, frames in order, pixels still folded into channels; while
  // planning too.
  using Emit = std::function<void(const Pass& pass, const FramesView& patches)>;

  // latents [C, n, h, w] as decode_session's scale says; `first` where they begin the sequence.
  void decode(const Pass& pass, const PassSize& size, const TensorView& latents, LatentScale scale,
              bool first, const Emit& emit) const;

  // On a GPU, at the first call: has cuBLASLt choose and load what attention to frames of latents
  // h x w runs, for which the first pass would wait otherwise. Takes less of the arena than a pass.
  void warm_up(const Pass& pass, std::int64_t height, std::int64_t width) const;

 private:
  Decoder(const VaeConfig& config, const TensorSource& source);

  struct UpBlock {
    std::vector<ResidualBlock> residual;
    std::optional<Upsampler> upsampler;
  };
  struct Chunk {
    const Pass& pass;
    const PassSize& size;
    const Emit& emit;
  };
  // `prepared`: what the level's first block prepares of its input.
  void level(const Chunk& chunk, std::size_t index, Frames input, Frames prepared,
             bool first) const;
  void pixels(const Chunk& chunk, Frames prepared) const;
  [[nodiscard]] const NormedConvolution& entry(std::size_t index) const {
    return up_blocks_[index].residual.front().first();
  }
  [[nodiscard]] std::int64_t group(const PassSize& size, std::size_t index,
                                   std::int64_t frames) const;

  VaeConfig config_;
  std::vector<Level> levels_;
  Parameter latent_scale_, latent_shift_, ones_, zeros_;  // the first two of normalised latents
  ops::Conv3dWeights post_quant_conv_, conv_in_;
  ResidualBlock mid_first_;
  AttentionBlock mid_attention_;
  ResidualBlock mid_second_;
  std::vector<UpBlock> up_blocks_;
  NormedConvolution conv_out_;
  mutable std::once_flag warm_;
};

}  // namespace pantograph::wan_vae
