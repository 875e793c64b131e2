// The flow-matching schedule: which noise levels a sampling visits, and the step between two of
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/json.h"

namespace pantograph {

enum class Sampler {
  kEuler,    // along the velocity
  kRenoise,  // to the clean latents, then fresh noise at the next level
};

// scheduler_config.json of a FlowMatchEulerDiscreteScheduler.
struct SchedulerConfig {
  double shift = 1;
  double train_timesteps = 1000;  // timestep of sigma 1
  Sampler sampler = Sampler::kEuler;
};

// Throws Error naming `where`: kFormat; kUnsupported for another scheduler and for its options that
// change the sigmas in other ways than the shift.
SchedulerConfig parse_scheduler_config(const Json& json, const std::string& where);
// Reads the file.
SchedulerConfig read_scheduler_config(const std::filesystem::path& file);

// What a request asks for.
struct ScheduleRequest {
  std::int64_t steps = 50;
  std::vector<double> sigmas{};   // where given, in the place of 1, 1 - 1 / steps, ...
  std::optional<double> shift{};  // in the place of the config's
};

class Schedule {
 public:
  // Sigmas, listed or even, are shifted: s sigma / (1 + (s - 1) sigma). Throws
  // Error(kInvalidArgument): steps < 1; sigmas outside (0, 1] or not decreasing; shift not
  // positive.
  Schedule(const ScheduleRequest& request, const SchedulerConfig& config);

  [[nodiscard]] std::int64_t steps() const { return std::ssize(sigmas_) - 1; }
  // Of every step, shifted, and 0 at the end, as diffusers computes them in f32.
  [[nodiscard]] std::span<const float> sigmas() const { return sigmas_; }
  // What the model is told at a step.
  [[nodiscard]] float timestep(std::int64_t step) const {
    return sigmas_[static_cast<std::size_t>(step)] * train_timesteps_;
  }

  // x at step's sigma becomes x at the next one, in f32, from the model's velocity there:
  // x + (sigma_next - sigma) v.
  void euler_step(std::int64_t step, std::span<const float> velocity, std::span<float> x) const;
  // (1 - sigma_next) x0 + sigma_next noise, x0 = x - sigma v being the clean latents; after the
  // last step `noise` is not read and may be empty.
  void renoise_step(std::int64_t step, std::span<const float> velocity,
                    std::span<const float> noise, std::span<float> x) const;

 private:
  std::vector<float> sigmas_;
  float train_timesteps_;
};

}  // namespace pantograph
