// From an image or a video file to latents: what `pantograph encode` does.
#pragma once

#include <filesystem>

#include "pantograph/vae.h"

namespace pantograph {

struct EncodeJob {
  std::filesystem::path vae;
  std::filesystem::path input;   // an image (one frame) or a video of 4 k + 1 frames
  std::filesystem::path output;  // .safetensors: "latents" [C, T, h, w]
  DType dtype = DType::kF32;     // f32, bf16 or f16, of the output
  EncodeOptions encode;
};

struct EncodeSummary {
  std::int64_t frames = 0, height = 0, width = 0;
  std::int64_t latent_frames = 0, latent_height = 0, latent_width = 0;
  double seconds = 0;
};

// Progress has no total: a video does not say how many frames it has.
EncodeSummary run_encode(const EncodeJob& job, const ProgressCallback& progress);

}  // namespace pantograph
