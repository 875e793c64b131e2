#include "pipeline/denoise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"
#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::expect_error;

const LatentLayout kLayout{.channels = 2, .frames = 3, .frame_elements = 2};

// Velocities that are constant in each branch.
struct Constant {
  float positive = 0, negative = 0;
  int positive_calls = 0, negative_calls = 0;

  PredictVelocity predict() {
    return [this](Branch branch, std::span<const float>, float, std::span<float> velocity) {
      const bool first = branch == Branch::kPositive;
      ++(first ? positive_calls : negative_calls);
      std::fill(velocity.begin(), velocity.end(), first ? positive : negative);
    };
  }
};

Schedule three_steps() {
  return Schedule({.sigmas = {1, 0.5, 0.25}, .shift = 1}, {});
}

TEST(Denoise, GuidanceOfAtMostOneRunsOneBranch) {
  for (const double guidance : {1.0, 0.0, 0.5}) {
    Constant model{.positive = 2, .negative = NAN};
    std::vector<float> x(12, 3);
    denoise(three_steps(), {.guidance = guidance}, kLayout, model.predict(), x);
    EXPECT_EQ(x, std::vector<float>(12, 1));  // 3 - 1 * 2
    EXPECT_EQ(model.positive_calls, 3);
    EXPECT_EQ(model.negative_calls, 0);
  }
}

TEST(Denoise, GuidanceExtrapolatesFromTheNegativeBranch) {
  Constant model{.positive = 2, .negative = 1};
  std::vector<float> x(12, 0);
  denoise(three_steps(), {.guidance = 3}, kLayout, model.predict(), x);
  EXPECT_EQ(x, std::vector<float>(12, -4));  // v = 1 + 3 (2 - 1)
  EXPECT_EQ(model.negative_calls, 3);
}

TEST(Denoise, AFirstFrameFollowsThePositiveBranchAlone) {
  Constant model{.positive = 2, .negative = 1};
  std::vector<float> x(12, 0);
  denoise(three_steps(), {.guidance = 3, .has_first_frame = true}, kLayout, model.predict(), x);
  EXPECT_EQ(x, (std::vector<float>{-2, -2, -4, -4, -4, -4, -2, -2, -4, -4, -4, -4}));
}

TEST(Denoise, TheModelIsToldLatentsAndTimestepOfEachStep) {
  std::vector<float> timesteps, seen, x(12, 1);
  denoise(
      three_steps(), {}, kLayout,
      [&](Branch, std::span<const float> latents, float timestep, std::span<float> velocity) {
        timesteps.push_back(timestep);
        seen.push_back(latents[0]);
        std::fill(velocity.begin(), velocity.end(), 1.0F);
      },
      x);
  EXPECT_EQ(timesteps, (std::vector<float>{1000, 500, 250}));
  EXPECT_EQ(seen, (std::vector<float>{1, 0.5, 0.25}));
}

TEST(Denoise, RenoisingDrawsNoiseAfterEveryStepButTheLast) {
  std::vector<std::int64_t> draws;
  Constant model{.positive = 1};
  std::vector<float> x(12, 3);
  denoise(three_steps(),
          {.sampler = Sampler::kRenoise,
           .noise =
               [&](std::int64_t draw, std::span<float> values) {
                 draws.push_back(draw);
                 std::fill(values.begin(), values.end(), static_cast<float>(draw));
               }},
          kLayout, model.predict(), x);
  EXPECT_EQ(draws, (std::vector<std::int64_t>{1, 2}));
  // Clean 2, then 0.5 * 2 + 0.5 * 1; clean 1, then 0.75 * 1 + 0.25 * 2; clean 1.
  EXPECT_EQ(x, std::vector<float>(12, 1));
}

TEST(Denoise, ProgressCountsStepsAndSeconds) {
  std::vector<StepProgress> told;
  Constant model;
  std::vector<float> x(12, 0);
  denoise(three_steps(), {.on_step = [&](const StepProgress& p) { told.push_back(p); }}, kLayout,
          model.predict(), x);
  ASSERT_EQ(told.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(told[i].steps_done, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(told[i].steps_total, 3);
    EXPECT_GE(told[i].step_seconds, 0);
    EXPECT_GE(told[i].seconds, told[i].step_seconds);
  }
}

TEST(Denoise, CancellingStopsBeforeTheNextBranch) {
  const CancelToken cancel;
  int calls = 0;
  std::vector<float> x(12, 0);
  expect_error(ErrorKind::kCancelled, {"cancelled"}, [&] {
    denoise(
        three_steps(), {.guidance = 2, .cancel = cancel}, kLayout,
        [&](Branch, std::span<const float>, float, std::span<float>) {
          ++calls;
          cancel.cancel();
        },
        x);
  });
  EXPECT_EQ(calls, 1);
}

TEST(Denoise, GuidanceThatIsNegativeOrNoNumberIsRefused) {
  for (const double guidance : {-0.5, static_cast<double>(NAN), HUGE_VAL}) {
    Constant model;
    std::vector<float> x(12, 0);
    expect_error(ErrorKind::kInvalidArgument, {"guidance is"}, [&] {
      denoise(three_steps(), {.guidance = guidance}, kLayout, model.predict(), x);
    });
    EXPECT_EQ(model.positive_calls, 0);
  }
}

TEST(Denoise, AVelocityThatIsNoNumberEndsIt) {
  Constant model{.positive = INFINITY};
  std::vector<float> x(12, 0);
  expect_error(ErrorKind::kInternal, {"step 1", "NaN"},
               [&] { denoise(three_steps(), {}, kLayout, model.predict(), x); });
}

TEST(SeededNoise, IsOneStreamForEachSeedAndDraw) {
  std::vector<float> first(5000), again(5000), draw(5000), seed(5000);
  seeded_noise(3)(0, first);
  seeded_noise(3)(0, again);
  seeded_noise(3)(1, draw);
  seeded_noise(4)(0, seed);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, draw);
  EXPECT_NE(first, seed);
  EXPECT_EQ(first[4321], static_cast<float>(Random(3, 0).normal(4321)));
  double sum = 0, squares = 0;
  for (const float value : first) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 5000, 0, 0.05);
  EXPECT_NEAR(squares / 5000, 1, 0.08);
}

}  // namespace
}  // namespace pantograph
