// One clip's encode: memory planned and taken, the history, and frames that wait for their chunk.
#pragma once

#include <memory>
#include <vector>

#include "device/memory.h"
#include "models/wan_vae/encoder.h"
#include "ops/conv3d/conv3d.h"
#include "pantograph/vae.h"

namespace pantograph::wan_vae {

class EncoderSession {
 public:
  // Throws Error(kOutOfMemory) where a chunk does not fit.
  EncoderSession(std::shared_ptr<const Encoder> encoder, const VaeConfig& config,
                 std::int64_t height, std::int64_t width, const EncodeOptions& options);

  void push(const TensorView& frames, const LatentCallback& receive);
  void finish() const;
  [[nodiscard]] std::size_t planned_bytes() const { return slab_.bytes() + state_.bytes(); }

 private:
  void check(const TensorView& frames) const;
  void encode_pending(const LatentCallback& receive);
  [[nodiscard]] Pass pass(bool planning);
  [[nodiscard]] std::int64_t chunk() const { return taken_ == 0 ? 1 : config_.temporal_factor(); }

  std::shared_ptr<const Encoder> encoder_;
  VaeConfig config_;
  std::int64_t height_, width_;
  EncodeOptions options_;
  Arena arena_;
  ops::PlanCache plans_;
  CausalState state_;
  device::Memory slab_;
  std::vector<float> pending_;  // [chunk, H, W, 3], filled from the front
  std::int64_t waiting_ = 0;    // frames in it
  std::int64_t taken_ = 0;      // frames encoded
  bool spent_ = false;
};

}  // namespace pantograph::wan_vae
