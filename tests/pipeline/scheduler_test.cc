#include "pipeline/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"
#include "support/golden_tensors.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::GoldenTensors;

SchedulerConfig parse(const std::string& text) {
  return parse_scheduler_config(parse_json(text, "s.json"), "s.json");
}

void expect_sigmas(const std::string& golden, const ScheduleRequest& request,
                   const SchedulerConfig& config) {
  const GoldenTensors file("pan2_dit/schedules.safetensors");
  const Schedule schedule(request, config);
  const std::span<const float> expected = file.values(golden), ours = schedule.sigmas();
  ASSERT_EQ(ours.size(), expected.size()) << golden;
  EXPECT_EQ(schedule.steps(), std::ssize(expected) - 1);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i], expected[i]) << golden << i;
}

TEST(Schedule, SigmasAreDiffusers) {
  expect_sigmas("steps_50_shift_9", {}, {.shift = 9});
  expect_sigmas("steps_1_shift_9", {.steps = 1}, {.shift = 9});
  expect_sigmas("steps_7_shift_1", {.steps = 7}, {.shift = 1});
  expect_sigmas("steps_12_shift_2.5", {.steps = 12, .shift = 2.5}, {.shift = 9});
  expect_sigmas("listed_shift_1", {.sigmas = {1, 0.75, 0.5, 0.25}, .shift = 1}, {.shift = 9});
  expect_sigmas("listed_shift_5", {.sigmas = {1, 0.9375, 0.8333333, 0.625}}, {.shift = 5});
}

TEST(Schedule, TimestepsAreAThousandSigmas) {
  const Schedule schedule({.sigmas = {1, 0.5}, .shift = 1}, {});
  EXPECT_EQ(schedule.timestep(0), 1000);
  EXPECT_EQ(schedule.timestep(1), 500);
}

TEST(Schedule, StepsAreTheirFormulas) {
  const Schedule schedule({.sigmas = {0.75, 0.25}, .shift = 1}, {});
  std::vector<float> x = {1, -2};
  const std::vector<float> velocity = {4, 8}, noise = {16, 32};
  schedule.euler_step(0, velocity, x);
  EXPECT_EQ(x, (std::vector<float>{-1, -6}));
  schedule.euler_step(1, velocity, x);
  EXPECT_EQ(x, (std::vector<float>{-2, -8}));
  x = {1, -2};
  schedule.renoise_step(0, velocity, noise, x);  // clean: -2, -8
  EXPECT_EQ(x, (std::vector<float>{2.5, 2}));
  schedule.renoise_step(1, velocity, {}, x);
  EXPECT_EQ(x, (std::vector<float>{1.5, 0}));
}

TEST(Schedule, StepsBelowOneAreRefused) {
  for (const std::int64_t steps : {0, -3}) {
    expect_error(ErrorKind::kInvalidArgument, {"steps is " + std::to_string(steps)},
                 [&] { Schedule({.steps = steps}, {}); });
  }
  expect_error(ErrorKind::kInvalidArgument, {"10000"}, [] { Schedule({.steps = 10001}, {}); });
}

TEST(Schedule, SigmasThatDoNotFallAreRefused) {
  const auto refused = [](std::vector<double> sigmas, const char* which) {
    expect_error(ErrorKind::kInvalidArgument, {"sigmas must fall", which},
                 [&] { Schedule({.sigmas = std::move(sigmas)}, {}); });
  };
  refused({1, 0.5, 0.5}, "sigma 3");
  refused({0.5, 0.75}, "sigma 2");
  refused({1.5, 0.5}, "sigma 1");
  refused({1, 0.5, 0}, "sigma 3");
  refused({1, -0.5}, "sigma 2");
  refused({1, NAN}, "sigma 2");
}

TEST(Schedule, AShiftThatIsNotPositiveIsRefused) {
  for (const double shift : {0.0, -1.0, static_cast<double>(NAN), HUGE_VAL}) {
    expect_error(ErrorKind::kInvalidArgument, {"shift"}, [&] { Schedule({.shift = shift}, {}); });
  }
}

TEST(SchedulerConfig, IsReadFromDiffusersFile) {
  const test::TempDir dir;
  const SchedulerConfig config = read_scheduler_config(test::write_file(
      dir / "scheduler_config.json",
      R"({"_class_name": "FlowMatchEulerDiscreteScheduler", "shift": 9.0, "use_karras_sigmas": false,
          "num_train_timesteps": 1000, "shift_terminal": null, "time_shift_type": "exponential"})"));
  EXPECT_EQ(config.shift, 9);
  EXPECT_EQ(config.train_timesteps, 1000);
  EXPECT_EQ(config.sampler, Sampler::kEuler);
  EXPECT_EQ(parse(R"({"stochastic_sampling": true})").sampler, Sampler::kRenoise);
}

TEST(SchedulerConfig, WhatWouldChangeTheSigmasIsUnsupported) {
  for (const char* option : {"use_dynamic_shifting", "invert_sigmas", "use_karras_sigmas",
                             "use_exponential_sigmas", "use_beta_sigmas"}) {
    expect_error(ErrorKind::kUnsupported, {"s.json", option},
                 [&] { parse(std::string("{\"") + option + "\": true}"); });
  }
  expect_error(ErrorKind::kUnsupported, {"shift_terminal"},
               [] { parse(R"({"shift_terminal": 0.02})"); });
  expect_error(ErrorKind::kUnsupported, {"UniPCMultistepScheduler"},
               [] { parse(R"({"_class_name": "UniPCMultistepScheduler"})"); });
  expect_error(ErrorKind::kFormat, {"\"shift\""}, [] { parse(R"({"shift": "9"})"); });
  expect_error(ErrorKind::kFormat, {"positive"}, [] { parse(R"({"shift": -9})"); });
}

}  // namespace
}  // namespace pantograph
