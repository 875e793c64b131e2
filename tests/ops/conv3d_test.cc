#include "ops/conv3d/conv3d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "ops/conv3d/onednn.h"
#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::HostFrames;
using test::OpRunner;

using Shape = std::vector<std::int64_t>;

Conv3dWeights whole_weights(const Shape& shape, std::uint64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<float> values(static_cast<std::size_t>(count));
  std::vector<float> bias(static_cast<std::size_t>(shape[0]));
  const Random random(seed, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.bits(i) % 7) - 3;
  }
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) - 2;
  const Shape bias_shape = {shape[0]};
  return {Weight(std::move(values), shape), Weight(std::move(bias), bias_shape)};
}

// One output channel of one input channel, with the kernel given and the bias 0.
Conv3dWeights single(std::vector<float> kernel, const KernelSize& size) {
  const Shape shape = {1, 1, size.time, size.height, size.width};
  const Shape bias_shape = {1};
  return {Weight(std::move(kernel), shape), Weight({0}, bias_shape)};
}

Conv3dProblem problem_of(const Conv3dWeights& weights, std::int64_t frames, std::int64_t height,
                         std::int64_t width, bool accumulate = false) {
  return {.frames = frames,
          .height = height,
          .width = width,
          .in_channels = weights.in_channels(),
          .out_channels = weights.out_channels(),
          .kernel = weights.kernel(),
          .accumulate = accumulate};
}

void run_with(const Conv3dImplementation& implementation, const Conv3dWeights& weights,
              const HostFrames& x, const HostFrames& y, bool accumulate = false) {
  const auto plan = implementation.plan(
      problem_of(weights, y.view.frames, y.view.height, y.view.width, accumulate), weights);
  plan->prepare({});
  const Buffer workspace(plan->workspace_bytes());
  plan->run(x.view, y.view, workspace.data(), nullptr);
}

struct Case {
  std::int64_t frames, height, width, in, out;
  KernelSize kernel;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.frames << "x" << c.height << "x" << c.width << ", " << c.in << " -> " << c.out << ", "
       << c.kernel.time << "x" << c.kernel.height << "x" << c.kernel.width;
}

constexpr KernelSize kPoint{1, 1, 1}, kSpace{1, 3, 3}, kTime{3, 1, 1}, kCube{3, 3, 3};

class Conv3dShapes : public testing::TestWithParam<Case> {};

TEST_P(Conv3dShapes, OneDnnAndTheReferenceLoopsAgreeExactlyOnWholeNumbers) {
  const Case& c = GetParam();
  const Conv3dWeights weights =
      whole_weights({c.out, c.in, c.kernel.time, c.kernel.height, c.kernel.width}, 7);
  HostFrames x(c.frames + c.kernel.time - 1, c.height, c.width, c.in);
  x.fill_whole(8);
  for (const bool accumulate : {false, true}) {
    HostFrames expected(c.frames, c.height, c.width, c.out);
    HostFrames y(c.frames, c.height, c.width, c.out);
    if (accumulate) {
      expected.fill_whole(9);
      y.fill_whole(9);
    }
    run_with(reference_conv3d(), weights, x, expected, accumulate);
    run_with(onednn_conv3d(), weights, x, y, accumulate);
    ASSERT_EQ(y.values, expected.values) << "accumulate " << accumulate;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Decoder, Conv3dShapes,
    testing::Values(
        Case{1, 1, 1, 48, 48, kPoint}, Case{5, 3, 5, 48, 48, kPoint}, Case{1, 1, 1, 48, 32, kCube},
        Case{2, 3, 5, 48, 12, kCube}, Case{1, 1, 1, 3, 3, kCube}, Case{3, 2, 1, 6, 3, kCube},
        Case{4, 5, 7, 12, 6, kCube}, Case{2, 4, 4, 16, 12, kCube}, Case{5, 6, 3, 16, 16, kCube},
        Case{1, 9, 16, 64, 64, kCube}, Case{2, 1, 1, 12, 36, kPoint}, Case{3, 2, 2, 32, 96, kPoint},
        Case{2, 7, 2, 12, 6, kPoint}, Case{1, 1, 1, 3, 3, kSpace}, Case{2, 1, 2, 6, 6, kSpace},
        Case{5, 5, 5, 16, 16, kSpace}, Case{3, 12, 10, 32, 32, kSpace},
        Case{1, 1, 1, 12, 24, kTime}, Case{2, 3, 1, 6, 12, kTime}, Case{5, 2, 3, 32, 64, kTime},
        Case{4, 3, 3, 5, 7, KernelSize{2, 5, 1}}));

// An implementation against values that follow from the definition without any loop like its own.
class Conv3dDefinition : public testing::TestWithParam<const Conv3dImplementation*> {};

TEST_P(Conv3dDefinition, ADeltaInTheMiddleGivesTheCurrentFrame) {
  std::vector<float> kernel(27, 0);
  kernel[2 * 9 + 4] = 1;
  const Conv3dWeights weights = single(kernel, kCube);
  HostFrames x(6, 3, 5, 1), y(4, 3, 5, 1);
  x.fill_normal(1);
  run_with(*GetParam(), weights, x, y);
  EXPECT_EQ(y.values, std::vector<float>(x.values.begin() + 2 * 15, x.values.end()));
}

TEST_P(Conv3dDefinition, EachTapInTimeShiftsByItsAge) {
  for (std::int64_t tap = 0; tap < 3; ++tap) {
    std::vector<float> kernel(3, 0);
    kernel[static_cast<std::size_t>(tap)] = 1;
    const Conv3dWeights weights = single(kernel, kTime);
    HostFrames x(7, 2, 2, 1), y(5, 2, 2, 1);
    x.fill_normal(2);
    run_with(*GetParam(), weights, x, y);
    EXPECT_EQ(y.values,
              std::vector<float>(x.values.begin() + tap * 4, x.values.begin() + (tap + 5) * 4));
  }
}

TEST_P(Conv3dDefinition, ADeltaInACornerShiftsInSpaceAndLetsZerosIn) {
  std::vector<float> kernel(9, 0);
  kernel[0] = 1;  // y[r, c] = x[r - 1, c - 1]
  const Conv3dWeights weights = single(kernel, kSpace);
  HostFrames x(1, 3, 4, 1), y(1, 3, 4, 1);
  x.fill_normal(3);
  run_with(*GetParam(), weights, x, y);
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 4; ++c) {
      EXPECT_EQ(y.at(0, r, c, 0), r == 0 || c == 0 ? 0 : x.at(0, r - 1, c - 1, 0)) << r << " " << c;
    }
  }
}

TEST_P(Conv3dDefinition, ABoxOverOnesCountsThePositionsInsideTheFrame) {
  const Conv3dWeights weights = single(std::vector<float>(27, 1), kCube);
  HostFrames x(4, 3, 3, 1), y(2, 3, 3, 1);
  std::fill(x.values.begin(), x.values.end(), 1.0F);
  run_with(*GetParam(), weights, x, y);
  const std::vector<float> frame = {12, 18, 12, 18, 27, 18, 12, 18, 12};
  for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(y.values[i], frame[i % 9]) << i;
}

// weights[o][i] = 10 o + i over x[c] = 1, 2, 3: sums of 6 and 14.
TEST_P(Conv3dDefinition, ChannelsMixAsAMatrixAndTheBiasIsAdded) {
  const Shape shape = {2, 3, 1, 1, 1}, bias_shape = {2};
  const Conv3dWeights weights(Weight({0, 1, 2, 10, 11, 12}, shape), Weight({0.5F, -1}, bias_shape));
  HostFrames x(1, 1, 1, 3), y(1, 1, 1, 2);
  for (std::int64_t c = 0; c < 3; ++c) x.at(0, 0, 0, c) = static_cast<float>(c + 1);
  run_with(*GetParam(), weights, x, y);
  EXPECT_EQ(y.values, (std::vector<float>{8.5F, 67}));
}

TEST_P(Conv3dDefinition, AnEmptySurroundingLeavesTheBias) {
  const Conv3dWeights weights = whole_weights({5, 4, 3, 3, 3}, 1);
  HostFrames x(3, 1, 1, 4), y(1, 1, 1, 5);
  std::fill(x.values.begin(), x.values.end(), 0.0F);
  run_with(*GetParam(), weights, x, y);
  EXPECT_EQ(y.values, (std::vector<float>{-2, -1, 0, 1, 2}));
}

INSTANTIATE_TEST_SUITE_P(All, Conv3dDefinition,
                         testing::Values(&reference_conv3d(), &onednn_conv3d()),
                         [](const auto& test) { return test.param->name(); });

TEST(Conv3dOp, WeightsOfFourDimensionsHaveOneFrame) {
  const Conv3dWeights weights = whole_weights({6, 4, 3, 5}, 1);
  EXPECT_EQ(weights.kernel(), (KernelSize{1, 3, 5}));
  EXPECT_EQ(weights.in_channels(), 4);
  EXPECT_EQ(weights.out_channels(), 6);
}

TEST(Conv3dOp, WeightsThatAreNoConvolutionAreRefused) {
  const Shape matrix = {2, 3}, two = {2}, three = {3}, kernel = {2, 1, 1, 1, 1};
  expect_error(ErrorKind::kInternal, {"a convolution needs weights"}, [&] {
    return Conv3dWeights(Weight(std::vector<float>(6), matrix), Weight({0, 0}, two));
  });
  expect_error(ErrorKind::kInternal, {"a bias [out]"},
               [&] { return Conv3dWeights(Weight({0, 0}, kernel), Weight({0, 0, 0}, three)); });
}

TEST(Conv3dOp, AddsTheResidualWhetherItIsTheOutputOrNot) {
  const Conv3dWeights weights = whole_weights({12, 6, 3, 3, 3}, 3);
  HostFrames x(5, 4, 3, 6), residual(3, 4, 3, 12), plain(3, 4, 3, 12), beside(3, 4, 3, 12),
      inside(3, 4, 3, 12);
  x.fill_whole(4);
  residual.fill_whole(5);
  inside.fill_whole(5);
  OpRunner().run([&](const Context& context) { conv3d(context, weights, x.view, plain.view); });
  OpRunner().run([&](const Context& context) {
    conv3d(context, weights, x.view, beside.view, &residual.view);
  });
  OpRunner().run(
      [&](const Context& context) { conv3d(context, weights, x.view, inside.view, &inside.view); });
  for (std::size_t i = 0; i < plain.values.size(); ++i) {
    ASSERT_EQ(beside.values[i], plain.values[i] + residual.values[i]) << i;
  }
  EXPECT_EQ(inside.values, beside.values);
}

TEST(Conv3dOp, PlanningTouchesNothingAndPacksNothing) {
  const Conv3dWeights weights = whole_weights({16, 16, 3, 3, 3}, 3);
  HostFrames x(3, 4, 4, 16), y(1, 4, 4, 16);
  x.fill_whole(1);
  Arena arena;
  PlanCache plans;
  const Context context{.arena = &arena, .plans = &plans, .planning = true};
  conv3d(context, weights, x.view, y.view);
  for (const float value : y.values) ASSERT_TRUE(std::isnan(value));
}

TEST(Conv3dOp, NoFramesAreNoWork) {
  const Conv3dWeights weights = whole_weights({3, 3, 3, 1, 1}, 3);
  HostFrames x(2, 1, 1, 3), y(0, 1, 1, 3);
  OpRunner runner;
  runner.run([&](const Context& context) { conv3d(context, weights, x.view, y.view); });
  EXPECT_EQ(runner.arena().peak(), 0U);
}

TEST(Conv3dOp, ShapesThatDoNotFitAreADefect) {
  const Conv3dWeights weights = whole_weights({3, 3, 3, 1, 1}, 3);
  HostFrames x(3, 2, 2, 3), y(3, 2, 2, 3);
  expect_error(ErrorKind::kInternal, {"x [3, 2, 2, 3]", "y [3, 2, 2, 3]"}, [&] {
    OpRunner().run([&](const Context& context) { conv3d(context, weights, x.view, y.view); });
  });
}

TEST(Conv3dOp, StopsWhenCancelled) {
  const Conv3dWeights weights = whole_weights({3, 3, 1, 1, 1}, 3);
  HostFrames x(1, 1, 1, 3), y(1, 1, 1, 3);
  x.fill_whole(1);
  OpRunner runner;
  runner.cancel.cancel();
  expect_error(ErrorKind::kCancelled, {"cancelled"}, [&] {
    runner.run([&](const Context& context) { conv3d(context, weights, x.view, y.view); });
  });
  EXPECT_TRUE(std::isnan(y.values[0]));
}

TEST(Conv3dOp, WhatNobodyServesIsNamedByTheRefusal) {
  const Conv3dWeights weights = whole_weights({3, 3, 1, 1, 1}, 3);
  PlanCache plans;
  Conv3dProblem problem = problem_of(weights, 1, 1, 1);
  problem.dtype = DType::kF16;
  expect_error(ErrorKind::kUnsupported, {"3 -> 3 channels"},
               [&] { plans.conv3d(weights, problem, {.kind = DeviceKind::kCuda}); });
}

TEST(PlanCache, InsistsOnAFastPlanForWhatIsCostlyWhereAsked) {
  const Conv3dWeights small = whole_weights({4, 4, 3, 3, 3}, 3);
  Conv3dWeights costly = whole_weights({8, 8, 3, 3, 3}, 3);
  costly.set_costly();
  PlanCache plans;
  plans.conv3d(small, problem_of(small, 1, 1, 1), {}, Algorithm::kFast);
  EXPECT_TRUE(plans.costly_by().empty());
  expect_error(
      ErrorKind::kUnsupported,
      {"no fast convolution for 8 -> 8 channels in f32 on the CPU", "choose the algorithm"},
      [&] { plans.conv3d(costly, problem_of(costly, 1, 1, 1), {}, Algorithm::kFast); });
  plans.conv3d(costly, problem_of(costly, 1, 1, 1), {}, Algorithm::kAuto);
  plans.conv3d(costly, problem_of(costly, 1, 1, 2), {}, Algorithm::kGeneral);
  EXPECT_EQ(plans.costly_by(), std::set<std::string>{onednn_conv3d().name()});
}

TEST(PlanCache, MakesOnePlanForEachConvolutionAndShape) {
  const Conv3dWeights weights = whole_weights({4, 4, 3, 3, 3}, 3);
  const Conv3dWeights others = whole_weights({4, 4, 3, 3, 3}, 3);
  PlanCache plans;
  const Conv3dPlan& plan = plans.conv3d(weights, problem_of(weights, 2, 3, 3), {});
  EXPECT_EQ(&plans.conv3d(weights, problem_of(weights, 2, 3, 3), {}), &plan);
  EXPECT_NE(&plans.conv3d(weights, problem_of(weights, 1, 3, 3), {}), &plan);
  EXPECT_NE(&plans.conv3d(weights, problem_of(weights, 2, 3, 3, true), {}), &plan);
  EXPECT_NE(&plans.conv3d(others, problem_of(others, 2, 3, 3), {}), &plan);
}

std::size_t packed_copies(const Conv3dWeights& weights) {
  std::size_t count = 0;
  EXPECT_FALSE(weights.has_packed([&](const PackedWeights& /*packed*/) {
    ++count;
    return false;
  }));
  return count;
}

TEST(PackedWeights, OneCopyServesAllPassSizes) {
  const Conv3dWeights weights = whole_weights({32, 32, 3, 3, 3}, 3);
  PlanCache first, second;
  for (std::int64_t frames = 1; frames <= 8; ++frames) {
    for (const bool accumulate : {false, true}) {
      first.conv3d(weights, problem_of(weights, frames, 12, 10, accumulate), {});
      second.conv3d(weights, problem_of(weights, frames, 12, 10, accumulate), {});
    }
  }
  first.prepare();
  second.prepare();
  EXPECT_EQ(packed_copies(weights), 1U);
}

TEST(PackedWeights, AreKeptUntilTheyAreDroppedAndNobodyHoldsThem) {
  const Conv3dWeights weights = whole_weights({16, 32, 3, 3, 3}, 7);
  PlanCache other;
  {
    PlanCache plans;
    plans.conv3d(weights, problem_of(weights, 1, 4, 4), {});
    plans.prepare();
    other.conv3d(weights, problem_of(weights, 1, 4, 4), {});
    plans.drop_other_weights();
  }
  EXPECT_EQ(packed_copies(weights), 1U);
  other = {};
  EXPECT_EQ(packed_copies(weights), 1U);
  weights.drop_unused();
  EXPECT_EQ(packed_copies(weights), 0U);
}

TEST(PackedWeights, SeveralThreadsShareACopyAndAgree) {
  const Conv3dWeights weights = whole_weights({16, 16, 3, 3, 3}, 3);
  HostFrames x(4, 6, 5, 16), expected(2, 6, 5, 16);
  x.fill_whole(1);
  run_with(reference_conv3d(), weights, x, expected);
  std::vector<std::unique_ptr<HostFrames>> results;
  for (int i = 0; i < 4; ++i) results.push_back(std::make_unique<HostFrames>(2, 6, 5, 16));
  std::vector<std::thread> threads;
  for (const auto& y : results) {
    threads.emplace_back([&] { run_with(onednn_conv3d(), weights, x, *y); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& y : results) EXPECT_EQ(y->values, expected.values);
}

TEST(OneDnnConvolution, SaysWhatPackingWillTakeUntilItIsDone) {
  const Conv3dWeights weights = whole_weights({16, 32, 3, 3, 3}, 7);
  constexpr std::size_t kWeightBytes = 16 * 32 * 27 * sizeof(float);
  PlanCache plans;
  EXPECT_EQ(plans.bytes_to_pack(), 0U);
  plans.conv3d(weights, problem_of(weights, 1, 4, 4), {});
  EXPECT_EQ(plans.bytes_to_pack(), kWeightBytes);
  plans.conv3d(weights, problem_of(weights, 2, 4, 4), {});  // takes the same copy
  EXPECT_EQ(plans.bytes_to_pack(), kWeightBytes);
  EXPECT_EQ(plans.weight_bytes(), kWeightBytes);
  plans.prepare();
  EXPECT_EQ(plans.bytes_to_pack(), 0U);
  EXPECT_EQ(plans.weight_bytes(), kWeightBytes);
}

}  // namespace
}  // namespace pantograph::ops
