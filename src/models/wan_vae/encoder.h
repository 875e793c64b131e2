// The Wan2.2 VAE encoder over a chunk of video frames.
#pragma once

#include <optional>
#include <vector>

#include "models/wan_vae/blocks.h"

namespace pantograph::wan_vae {

// Half the height and width, and half the frames where the level has it, plus the shortcut from the
// level's input. Frame 0 of the sequence is a chunk of its own: it passes the temporal convolution
// by and is what that convolution sees first.
class Downsampler {
 public:
  Downsampler(const TensorSource& source, const std::string& name, const DownLevel& level);
  [[nodiscard]] Frames apply(const Pass& pass, const FramesView& x, bool first) const;

 private:
  ops::Conv3dWeights spatial_;
  std::optional<ops::Conv3dWeights> temporal_;
};

class Encoder {
 public:
  // The tensors have been checked against encoder_tensors().
  Encoder(const VaeConfig& config, const Checkpoint& checkpoint);

  // pixels [n, H, W, 3] f32 in [-1, 1], n = 1 where `first`, else a multiple of the temporal
  // factor; H and W multiples of the spatial factor. Returns the moments [m, h, w, 2 C] of one
  // latent frame for `first`, else n / factor: the mean in the first C channels, the log-variance
  // in the others.
  [[nodiscard]] Frames encode(const Pass& pass, const FramesView& pixels, bool first) const;

 private:
  Encoder(const VaeConfig& config, const TensorSource& source);
  struct DownBlock {
    std::vector<ResidualBlock> residual;
    std::optional<Downsampler> downsampler;
  };
  [[nodiscard]] Frames level(const Pass& pass, std::size_t index, Frames input, bool first) const;

  std::int64_t patch_;
  std::vector<DownLevel> levels_;
  ops::Conv3dWeights conv_in_;
  std::vector<DownBlock> down_blocks_;
  ResidualBlock mid_first_;
  AttentionBlock mid_attention_;
  ResidualBlock mid_second_;
  NormedConvolution conv_out_;
  ops::Conv3dWeights quant_conv_;
};

}  // namespace pantograph::wan_vae
