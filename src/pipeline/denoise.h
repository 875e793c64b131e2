// The denoising loop, for any model of velocities.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "pantograph/execution_context.h"
#include "pipeline/scheduler.h"

namespace pantograph {

enum class Branch { kPositive, kNegative };  // the prompt's, the negative prompt's

// The velocity at `latents`, of their size, under one branch's text.
using PredictVelocity = std::function<void(Branch branch, std::span<const float> latents,
                                           float timestep, std::span<float> velocity)>;

// Fills `values` with N(0, 1). Draw 0 is the noise that sampling begins with, draw i + 1 the one
// after step i.
using NoiseSource = std::function<void(std::int64_t draw, std::span<float> values)>;

// The same numbers on every machine and device: element i of draw d depends on (seed, d, i) alone.
NoiseSource seeded_noise(std::uint64_t seed);

struct StepProgress {
  std::int64_t steps_done = 0, steps_total = 0;
  double step_seconds = 0;           // the last step's
  double seconds = 0;                // since the loop began
  std::span<const float> latents{};  // after the step; valid during the call
};

struct DenoiseOptions {
  Sampler sampler = Sampler::kEuler;
  // v_neg + g (v_pos - v_neg); with g at most 1 only the positive branch runs.
  double guidance = 1;
  // Latent frame 0 is a given image's: it follows v_pos, not the guided velocity.
  bool has_first_frame = false;
  NoiseSource noise = seeded_noise(0);  // read by the renoise sampler
  std::function<void(const StepProgress&)> on_step{};
  CancelToken cancel{};
};

// How latents [channels, frames, height, width] lie in memory.
struct LatentLayout {
  std::int64_t channels = 0, frames = 0, frame_elements = 0;
  [[nodiscard]] std::int64_t elements() const { return channels * frames * frame_elements; }
};

// Throws Error(kInvalidArgument) where guidance is negative or not finite.
void check_guidance(double guidance);

// `latents` hold N(0, 1) before and the clean, normalised latents after. Throws Error:
// kInvalidArgument (guidance), kCancelled, kInternal (a velocity that is not finite), and what
// `predict` throws.
void denoise(const Schedule& schedule, const DenoiseOptions& options, const LatentLayout& layout,
             const PredictVelocity& predict, std::span<float> latents);

}  // namespace pantograph
