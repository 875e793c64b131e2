// Text- and image-to-video sampling with PAN 2's DiT: hidden states of texts to latents.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "models/pan2_dit/dit.h"
#include "pipeline/denoise.h"

namespace pantograph {

struct SamplingRequest {
  pan2_dit::LatentSize size{};
  // Hidden states [tokens, text_embed_dim] of the prompts, f32, bf16 or f16; `negative` is read
  // only where guidance is above 1.
  TensorView positive{}, negative{};
  // Image-to-video: the normalised VAE mean [channels, 1, h, w] of the first frame, f32, dense.
  std::optional<TensorView> first_frame{};
  std::optional<Sampler> sampler{};  // in the place of the scheduler config's
  ScheduleRequest schedule{};
  double guidance = 2.5;
  NoiseSource noise = seeded_noise(0);
};

struct SamplingCallbacks {
  std::function<void(const StepProgress&)> on_step{};
  // Between the model's blocks: of `total`, over all branches of a step.
  std::function<void(std::int64_t done, std::int64_t total)> on_block{};
};

// Throws what checking the request finds wrong, without running the model: Error(kInvalidArgument).
void check_request(const SamplingRequest& request, const pan2_dit::Config& dit,
                   const SchedulerConfig& scheduler);

// The clean, normalised latents [channels, T, h, w]. Throws as check_request, and
// Error(kCancelled).
std::vector<float> sample_latents(const std::shared_ptr<const pan2_dit::Dit>& dit,
                                  const SchedulerConfig& scheduler, const SamplingRequest& request,
                                  const ExecutionContext& context = {},
                                  const CancelToken& cancel = {},
                                  const SamplingCallbacks& callbacks = {});

}  // namespace pantograph
