// One clip's decode: the pass size chosen, the memory planned and taken, the history.
#pragma once

#include <optional>

#include "core/memory.h"
#include "models/wan_vae/decoder.h"
#include "ops/conv3d/conv3d.h"
#include "pantograph/vae.h"

namespace pantograph::wan_vae {

class Session {
 public:
  // Throws Error(kOutOfMemory) where the clip's passes do not fit.
  Session(std::shared_ptr<const Decoder> decoder, const VaeConfig& config, std::int64_t height,
          std::int64_t width, const DecodeOptions& options);

  void push(const TensorView& latents, FrameSink& sink);
  [[nodiscard]] std::int64_t latent_frames() const { return pushed_; }
  [[nodiscard]] std::int64_t frames_per_pass() const { return size_.latent_frames; }
  [[nodiscard]] std::size_t planned_bytes() const { return slab_.bytes() + state_.bytes(); }

 private:
  // Bytes that passes of this size take, history included.
  [[nodiscard]] std::size_t measure(const PassSize& size) const;
  void choose_size(std::size_t limit, bool limit_is_users);
  void plan_pass(std::int64_t frames, bool first);
  void check(const TensorView& latents) const;
  [[nodiscard]] Pass pass(bool planning);

  std::shared_ptr<const Decoder> decoder_;
  std::int64_t channels_, height_, width_;
  DecodeOptions options_;
  PassSize size_;
  Arena arena_;
  ops::PlanCache plans_;
  CausalState state_;
  Buffer slab_;
  std::int64_t pushed_ = 0;
  bool spent_ = false;
};

// The first latent frame with a value that is no number or infinite; nothing where all are finite.
std::optional<std::int64_t> first_frame_not_finite(const TensorView& latents);

}  // namespace pantograph::wan_vae
