// The decoder's parts, each a direct transcription of its definition.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/wan_vae/causal_state.h"
#include "models/wan_vae/config.h"
#include "ops/conv3d/conv3d.h"
#include "ops/enlarge/enlarge.h"
#include "weights/parameter.h"

namespace pantograph::wan_vae {

// Everything a pass of one session works with.
struct Pass {
  ops::Context ops;
  CausalState* state = nullptr;
  DType dtype = DType::kF32;  // of activations

  [[nodiscard]] Frames frames(const FramesView& like, std::int64_t channels,
                              std::int64_t lead = 0) const {
    return {*ops.arena, dtype, like.frames, like.height, like.width, channels, lead};
  }
};

// Finds tensors by name; they have been checked against decoder_tensors().
class TensorSource {
 public:
  explicit TensorSource(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  [[nodiscard]] ops::Conv3dWeights convolution(const std::string& name) const;
  [[nodiscard]] ops::EnlargeWeights enlargement(const std::string& name) const;
  [[nodiscard]] Parameter gamma(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const {
    return checkpoint_.tensors.contains(name);
  }

 private:
  const Checkpoint& checkpoint_;
};

// RMS norm, SiLU and the causal convolution that follows: y = conv(silu(norm(x))) (+ residual).
class NormedConvolution {
 public:
  NormedConvolution(const TensorSource& source, const std::string& norm, const std::string& conv);

  // The normalised x with its history in front, which is all the convolution needs.
  [[nodiscard]] Frames prepare(const Pass& pass, const FramesView& x) const;
  // Room for it, and what it is called where something else makes it, or some frames of it, in
  // order.
  [[nodiscard]] Frames room(const Pass& pass, const FramesView& x) const;
  [[nodiscard]] ops::NormedFrames normed(const Pass& pass, const FramesView& prepared) const;
  void convolve(const Pass& pass, const FramesView& prepared, const FramesView& y,
                const FramesView* residual = nullptr) const;
  // Also what `next` prepares of y, in one go where the convolution can. y may be nullptr where
  // nobody else reads it; `prepared` is given back as soon as it has been read.
  [[nodiscard]] Frames convolve_for(const NormedConvolution& next, const Pass& pass,
                                    Frames prepared, const FramesView* y,
                                    const FramesView* residual = nullptr) const;
  [[nodiscard]] std::int64_t out_channels() const { return conv_.out_channels(); }
  void set_costly() { conv_.set_costly(); }

 private:
  Parameter gamma_;
  ops::Conv3dWeights conv_;
};

// A block's output, and what the layer after it prepares of that where it begins with a norm.
struct BlockOutput {
  Frames y, prepared;
};

// y = conv2(silu(norm2(conv1(silu(norm1(x)))))) + s, s = x or a 1x1x1 convolution of it.
class ResidualBlock {
 public:
  ResidualBlock(const TensorSource& source, const std::string& name);
  // The layer that reads x, and prepares it.
  [[nodiscard]] const NormedConvolution& first() const { return first_; }
  enum class Keep : std::uint8_t { kYes, kNo };
  // `prepared` is what first() prepares of x. x stays as it is or, where nobody else needs it, is
  // given back as early as can be; y has `lead` frames of room in front. `next` is the layer that
  // reads y, or nullptr.
  [[nodiscard]] BlockOutput apply(const Pass& pass, Frames& x, Keep keep, Frames prepared,
                                  std::int64_t lead, const NormedConvolution* next) const;
  // y takes the place of x. Returns what `next` prepares of it.
  [[nodiscard]] Frames apply_in_place(const Pass& pass, const FramesView& x, Frames prepared,
                                      const NormedConvolution* next) const;
  void apply_in_place(const Pass& pass, const FramesView& x) const;

 private:
  NormedConvolution first_, second_;
  std::optional<ops::Conv3dWeights> shortcut_;
};

// x += proj(attention(qkv(norm(x)))), within each frame.
class AttentionBlock {
 public:
  AttentionBlock(const TensorSource& source, const std::string& name);
  void apply_in_place(const Pass& pass, const FramesView& x) const;

 private:
  Parameter gamma_;
  ops::Conv3dWeights to_qkv_, proj_;
};

// x2 in height and width, and in time where the level has it, plus the shortcut from the level's
// input.
class Upsampler {
 public:
  Upsampler(const TensorSource& source, const std::string& name, const Level& level);

  // Frames of room that x needs in front, holding what came before it.
  [[nodiscard]] std::int64_t lead() const { return temporal_ ? 2 : 0; }
  // `input` is the level's input at x's frames; `first` says that x begins with frame 0 of the
  // sequence, which is then cleared: the temporal convolution never sees it. `next` is the layer
  // that reads y.
  [[nodiscard]] BlockOutput apply(const Pass& pass, const FramesView& input, const FramesView& x,
                                  bool first, const NormedConvolution& next) const;

 private:
  std::optional<ops::Conv3dWeights> temporal_;
  ops::EnlargeWeights spatial_;
};

}  // namespace pantograph::wan_vae
