#include "pipeline/scheduler.h"

#include <cmath>

#include "checkpoint/config_reader.h"
#include "checkpoint/mapped_file.h"
#include "core/check.h"

namespace pantograph {
namespace {

constexpr std::int64_t kMostSteps = 10000;

std::vector<double> even_sigmas(std::int64_t steps) {
  if (steps < 1 || steps > kMostSteps) {
    fail(ErrorKind::kInvalidArgument, "steps is ", steps, "; expected 1 to ", kMostSteps);
  }
  std::vector<double> sigmas;
  for (std::int64_t i = 0; i < steps; ++i) {
    sigmas.push_back(1 - static_cast<double>(i) / static_cast<double>(steps));
  }
  return sigmas;
}

void require_decreasing(const std::vector<double>& sigmas) {
  double before = 1;
  for (std::size_t i = 0; i < sigmas.size(); ++i) {
    // Written so that NaN is refused.
    const bool below = i == 0 ? sigmas[i] <= before : sigmas[i] < before;
    if (!below || !(sigmas[i] > 0)) {
      fail(ErrorKind::kInvalidArgument, "sigma ", i + 1, " of the list is ", sigmas[i],
           "; sigmas must fall from at most 1 and stay above 0 (the last step's 0 is added)");
    }
    before = sigmas[i];
  }
}

}  // namespace

SchedulerConfig parse_scheduler_config(const Json& json, const std::string& where) {
  const ConfigReader read(json, where);
  const Json* name = read.find("_class_name");
  if (name != nullptr &&
      (name->string() == nullptr || *name->string() != "FlowMatchEulerDiscreteScheduler")) {
    read.refuse(ErrorKind::kUnsupported, "the scheduler is a ", name->dump(),
                ", expected a FlowMatchEulerDiscreteScheduler");
  }
  for (const char* option : {"use_dynamic_shifting", "invert_sigmas", "use_karras_sigmas",
                             "use_exponential_sigmas", "use_beta_sigmas"}) {
    if (read.boolean(option, false)) {
      read.refuse(ErrorKind::kUnsupported, "\"", option, "\" is true, which is not supported");
    }
  }
  if (read.number("shift_terminal", 0) != 0) {
    read.refuse(ErrorKind::kUnsupported, "\"shift_terminal\" is set, which is not supported");
  }
  SchedulerConfig config;
  config.shift = read.number("shift", config.shift);
  config.train_timesteps = read.number("num_train_timesteps", config.train_timesteps);
  if (config.shift <= 0 || config.train_timesteps <= 0) {
    read.refuse(ErrorKind::kFormat, "\"shift\" and \"num_train_timesteps\" must be positive");
  }
  if (read.boolean("stochastic_sampling", false)) config.sampler = Sampler::kRenoise;
  return config;
}

SchedulerConfig read_scheduler_config(const std::filesystem::path& path) {
  const MappedFile file(path);
  const auto* const text = reinterpret_cast<const char*>(file.bytes().data());
  return parse_scheduler_config(parse_json({text, file.bytes().size()}, path.string()),
                                path.string());
}

Schedule::Schedule(const ScheduleRequest& request, const SchedulerConfig& config)
    : train_timesteps_(static_cast<float>(config.train_timesteps)) {
  const double shift = request.shift.value_or(config.shift);
  if (!(shift > 0) || !std::isfinite(shift)) {
    fail(ErrorKind::kInvalidArgument, "shift is ", shift, "; expected a positive number");
  }
  if (!request.sigmas.empty()) require_decreasing(request.sigmas);
  const std::vector<double> plain =
      request.sigmas.empty() ? even_sigmas(request.steps) : request.sigmas;
  // In f32, operation by operation, as diffusers: so both name the same timesteps.
  const auto s = static_cast<float>(shift), s_minus_1 = static_cast<float>(shift - 1);
  for (const double value : plain) {
    const auto sigma = static_cast<float>(value);
    sigmas_.push_back(s * sigma / (1 + s_minus_1 * sigma));
  }
  sigmas_.push_back(0);
}

void Schedule::euler_step(std::int64_t step, std::span<const float> velocity,
                          std::span<float> x) const {
  const auto i = static_cast<std::size_t>(step);
  const float change = sigmas_[i + 1] - sigmas_[i];
  for (std::size_t k = 0; k < x.size(); ++k) x[k] += change * velocity[k];
}

void Schedule::renoise_step(std::int64_t step, std::span<const float> velocity,
                            std::span<const float> noise, std::span<float> x) const {
  const auto i = static_cast<std::size_t>(step);
  const float sigma = sigmas_[i], next = sigmas_[i + 1];
  for (std::size_t k = 0; k < x.size(); ++k) {
    const float clean = x[k] - sigma * velocity[k];
    x[k] = next == 0 ? clean : (1 - next) * clean + next * noise[k];
  }
}

}  // namespace pantograph
