#include "pipeline/denoise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/stopwatch.h"

namespace pantograph {
namespace {

void stop_if(const CancelToken& cancel) {
  if (cancel.cancelled()) fail(ErrorKind::kCancelled, "the sampling was cancelled");
}

// velocity <- negative + guidance (velocity - negative), but for latent frame 0 where that is an
// image's.
void guide(const DenoiseOptions& options, const LatentLayout& layout,
           std::span<const float> negative, std::span<float> velocity) {
  const auto guidance = static_cast<float>(options.guidance);
  const std::int64_t channel = layout.frames * layout.frame_elements;
  const std::int64_t kept = options.has_first_frame ? layout.frame_elements : 0;
  for (std::int64_t c = 0; c < layout.channels; ++c) {
    for (std::int64_t k = c * channel + kept; k < (c + 1) * channel; ++k) {
      const auto i = static_cast<std::size_t>(k);
      velocity[i] = negative[i] + guidance * (velocity[i] - negative[i]);
    }
  }
}

void require_finite(std::span<const float> velocity, std::int64_t step) {
  const bool finite = std::all_of(velocity.begin(), velocity.end(),
                                  [](float value) { return std::isfinite(value); });
  require(finite, "the model's velocity at step ", step + 1,
          " holds NaN or infinite numbers; are the weights whole?");
}

}  // namespace

NoiseSource seeded_noise(std::uint64_t seed) {
  return [seed](std::int64_t draw, std::span<float> values) {
    const Random random(seed, static_cast<std::uint64_t>(draw));
    parallel_for(std::ssize(values), 1 << 12, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        values[static_cast<std::size_t>(i)] =
            static_cast<float>(random.normal(static_cast<std::uint64_t>(i)));
      }
    });
  };
}

void check_guidance(double guidance) {
  if (!std::isfinite(guidance) || guidance < 0) {
    fail(ErrorKind::kInvalidArgument, "guidance is ", guidance,
         "; expected 0 or more (up to 1 runs without the negative prompt)");
  }
}

void denoise(const Schedule& schedule, const DenoiseOptions& options, const LatentLayout& layout,
             const PredictVelocity& predict, std::span<float> latents) {
  check_guidance(options.guidance);
  require(layout.elements() == std::ssize(latents), "denoise: ", latents.size(), " latents for ",
          layout.elements());
  const bool guided = options.guidance > 1;
  std::vector<float> velocity(latents.size()), negative(guided ? latents.size() : 0), noise;
  const auto begin = Clock::now();
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    const auto step_begin = Clock::now();
    stop_if(options.cancel);
    predict(Branch::kPositive, latents, schedule.timestep(step), velocity);
    if (guided) {
      stop_if(options.cancel);
      predict(Branch::kNegative, latents, schedule.timestep(step), negative);
      guide(options, layout, negative, velocity);
    }
    require_finite(velocity, step);
    if (options.sampler == Sampler::kEuler) {
      schedule.euler_step(step, velocity, latents);
    } else {
      if (step + 1 < schedule.steps()) {
        noise.resize(latents.size());
        options.noise(step + 1, noise);
      }
      schedule.renoise_step(step, velocity, noise, latents);
    }
    if (options.on_step) {
      options.on_step({.steps_done = step + 1,
                       .steps_total = schedule.steps(),
                       .step_seconds = seconds_since(step_begin),
                       .seconds = seconds_since(begin),
                       .latents = latents});
    }
  }
}

}  // namespace pantograph
