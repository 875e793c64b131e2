// One clip's decode: the pass size chosen, the memory planned and taken, the history.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "models/wan_vae/decoder.h"
#include "models/wan_vae/frame_output.h"
#include "models/wan_vae/pass_plan.h"
#include "ops/conv3d/conv3d.h"
#include "pantograph/vae.h"

namespace pantograph::wan_vae {

class Session {
 public:
  // Throws Error(kOutOfMemory) where the clip's passes do not fit.
  Session(std::shared_ptr<const Decoder> decoder, const VaeConfig& config, std::int64_t height,
          std::int64_t width, const DecodeOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void push(const TensorView& latents, FrameSink& sink);
  [[nodiscard]] std::int64_t latent_frames() const { return pushed_; }
  [[nodiscard]] std::int64_t frames_per_pass() const { return plan_.size.latent_frames; }
  [[nodiscard]] std::size_t planned_bytes() const { return plan_.bytes; }
  [[nodiscard]] std::size_t weight_bytes() const { return plan_.weight_bytes; }
  [[nodiscard]] double weight_seconds() const { return weight_seconds_; }

 private:
  void load_weights();
  void plan_passes();
  void plan_pass(ops::PlanCache& plans, std::int64_t frames, bool first);
  // Of a pass, whose convolutions are among those that prepare() makes ready.
  const Arena::Layout& layout(std::int64_t frames, bool first);
  void prepare();
  void check(const TensorView& latents) const;
  [[nodiscard]] std::optional<std::int64_t> first_bad_frame(const TensorView& latents) const;
  // Of the next pass, where so many latent frames are left.
  [[nodiscard]] std::int64_t next_pass(std::int64_t frames_left) const;
  [[nodiscard]] Pass pass(ops::PlanCache& plans, bool planning);

  std::shared_ptr<const Decoder> decoder_;
  ClipShape clip_;
  DecodeOptions options_;
  device::Stream own_stream_;  // where the caller gave none
  double weight_seconds_ = 0;
  PassPlan plan_;
  Arena arena_;
  std::map<std::pair<std::int64_t, bool>, Arena::Layout> layouts_;  // by layout()'s arguments
  ops::PlanCache plans_;
  CausalState state_;
  FrameOutput output_;
  device::Memory slab_;
  std::int64_t pushed_ = 0;
  bool spent_ = false;
};

// The first latent frame with a value that is no number or infinite; nothing where all are finite.
// For latents in host memory.
std::optional<std::int64_t> first_frame_not_finite(const TensorView& latents);

}  // namespace pantograph::wan_vae
