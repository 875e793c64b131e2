// How much of a clip is decoded at once: the fastest pass whose memory fits.
#pragma once

#include <cstdint>

#include "models/wan_vae/decoder.h"
#include "models/wan_vae/frame_output.h"
#include "models/wan_vae/pass_choice.h"
#include "pantograph/vae.h"

namespace pantograph::wan_vae {

// What the driver's context, cuDNN and cuBLASLt take of a GPU, as measured on an H200.
inline constexpr std::size_t kLibrariesOnGpu = std::size_t{600} << 20;

// One clip's decode, as far as its memory depends on it.
struct ClipShape {
  std::int64_t channels = 0, height = 0, width = 0;  // of latents
  std::int64_t frames = 0;                           // of the whole clip; 0: not known
  std::int64_t patch = 1;
  LatentScale scale = LatentScale::kRaw;
  Device device{};
  DType dtype = DType::kF32;  // of activations
  Algorithm algorithm = Algorithm::kAuto;
};

// Throws Error for sizes and options that cannot be, and for a device that is not there.
ClipShape clip_shape(const VaeConfig& config, std::int64_t height, std::int64_t width,
                     const DecodeOptions& options);

// `limit` counts the session, its weights and, on a GPU, the libraries; 0: what the device has
// free, within reason. Throws Error(kOutOfMemory) naming a pass size that fits where
// `frames_per_pass` (0: free choice) does not, or a limit that would do.
PassPlan choose_pass(const Decoder& decoder, const ClipShape& clip, std::int64_t frames_per_pass,
                     std::size_t limit);

// The next shorter pass: a power of two, so that few sizes make up any number of frames. Each has
// its memory counted, for one may need more than a longer one, if its blocks lie worse; 0
// after 1.
std::int64_t shorter_pass(std::int64_t frames);

// Latents of this shape that hold nothing, for planning.
TensorView placeholder(const ClipShape& clip, std::int64_t frames);

}  // namespace pantograph::wan_vae
