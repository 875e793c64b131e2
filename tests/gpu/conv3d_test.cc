// Convolutions as the op runs them, Hopper's and one of cuDNN's, against the direct kernel in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "core/half.h"
#include "hopper.h"
#include "ops/conv3d/cuda.h"
#include "ops/conv3d/winograd_plan.h"

namespace pantograph::ops {
namespace {

using test::GuardedArray;
using test::kGpu;

struct Case {
  std::int64_t frames, height, width, in, out, taps = 3, side = 3;  // of the kernel
  Thrift thrift = Thrift::kNone;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.frames << " x " << c.height << " x " << c.width << ", " << c.in << " -> " << c.out
       << ", " << c.taps << " x " << c.side << " x " << c.side << ", thrift "
       << static_cast<int>(c.thrift);
}

// Weights under which normal inputs stay normal.
Conv3dWeights weights_of(const Case& c) {
  const std::vector<std::int64_t> shape = {c.out, c.in, c.taps, c.side, c.side}, bias = {c.out};
  const std::int64_t terms = c.in * c.taps * c.side * c.side;
  const double scale = 1 / std::sqrt(static_cast<double>(terms));
  Conv3dWeights weights(Weight(test::normal_numbers(c.out * terms, 1, DType::kBF16, scale), shape),
                        Weight(test::normal_numbers(c.out, 2, DType::kBF16), bias));
  weights.set_input_norm(8 * std::sqrt(static_cast<double>(c.in)));
  return weights;
}

FramesView frames_of(const Case& c, std::byte* data, DType dtype, std::int64_t frames,
                     std::int64_t channels) {
  return {.data = data,
          .dtype = dtype,
          .frames = frames,
          .height = c.height,
          .width = c.width,
          .channels = channels};
}

Conv3dProblem problem_of(const Case& c, DType dtype, bool accumulate) {
  return {.frames = c.frames,
          .height = c.height,
          .width = c.width,
          .in_channels = c.in,
          .out_channels = c.out,
          .kernel = {c.taps, c.side, c.side},
          .accumulate = accumulate,
          .dtype = dtype,
          .thrift = c.thrift};
}

// bf16 numbers of x and the residual, and what comes of them in f32.
struct Data {
  explicit Data(const Case& c)
      : x(test::normal_numbers((c.frames + c.taps - 1) * c.height * c.width * c.in, 3,
                               DType::kBF16)),
        residual(test::normal_numbers(c.frames * c.height * c.width * c.out, 4, DType::kBF16)) {}
  std::vector<float> x, residual;

  [[nodiscard]] std::vector<float> direct(const Case& c, const Conv3dWeights& weights,
                                          bool accumulate) const {
    const auto plan = cuda_direct_conv3d().plan(problem_of(c, DType::kF32, accumulate), weights);
    plan->prepare({});
    const device::Memory x_on_gpu = test::floats_on_gpu(x), y = test::floats_on_gpu(residual);
    plan->run(frames_of(c, x_on_gpu.data(), DType::kF32, c.frames + c.taps - 1, c.in),
              frames_of(c, y.data(), DType::kF32, c.frames, c.out), nullptr, nullptr);
    std::vector<float> values(residual.size());
    device::copy(values.data(), y.data(), y.bytes(), nullptr);
    device::synchronize(nullptr);
    return values;
  }
};

// In memory for x, y and the workspace, of which a plan may want to try something.
void prepare(Conv3dPlan& plan, const Conv3dProblem& p) {
  const std::int64_t channels =
      (p.frames + p.kernel.time - 1) * p.in_channels + p.frames * p.out_channels;
  const device::Memory scratch(kGpu, static_cast<std::size_t>(p.height * p.width * channels) * 2 +
                                         plan.workspace_bytes() + 4 * Arena::kAlignment);
  plan.begin();
  plan.prepare({.data = scratch.data(), .bytes = scratch.bytes()});
}

struct Tolerance {
  double rms, most;
};

void expect_near_direct(const Conv3dImplementation& implementation, const Case& c, bool accumulate,
                        const Tolerance& tolerance) {
  const Conv3dWeights weights = weights_of(c);
  const Data data(c);
  const GuardedArray x(data.x, DType::kBF16);
  const Conv3dProblem problem = problem_of(c, DType::kBF16, accumulate);
  ASSERT_EQ(implementation.refuses(problem, kGpu), std::nullopt);
  ASSERT_EQ(implementation.refuses_weights(problem, weights), std::nullopt);
  const auto plan = implementation.plan(problem, weights);
  prepare(*plan, problem);
  // What lies in the workspace before does not matter.
  const GuardedArray workspace(static_cast<std::int64_t>(plan->workspace_bytes() / 2));
  const GuardedArray y = accumulate ? GuardedArray(data.residual, DType::kBF16)
                                    : GuardedArray(std::ssize(data.residual));
  plan->run(frames_of(c, x.data(), DType::kBF16, c.frames + c.taps - 1, c.in),
            frames_of(c, y.data(), DType::kBF16, c.frames, c.out), workspace.data(), nullptr);
  const std::vector<float> found = y.values(DType::kBF16);
  const std::vector<float> expected = data.direct(c, weights, accumulate);
  double squares = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(double{found[i]} - double{expected[i]});
    squares += difference * difference;
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  EXPECT_LE(std::sqrt(squares / static_cast<double>(found.size())), tolerance.rms);
  EXPECT_LE(largest, tolerance.most);
  EXPECT_TRUE(y.guards_are_whole() && workspace.guards_are_whole());
}

// Of y, which is of about 1.5, bf16 takes 0.0024 on average.
constexpr Tolerance kRounding = {0.004, 0.05};

class WinogradConv3d : public test::OnHopper, public testing::WithParamInterface<Case> {};

TEST_P(WinogradConv3d, AgreesWithTheDirectSums) {
  const Case& c = GetParam();
  // Of sums of about 1 f16's components lose 0.0006, 0.0019 and 0.0072 on average with tiles of 2,
  // 4 and 6, as computed in doubles that are rounded alike.
  const bool large_tiles = choose_winograd(problem_of(c, DType::kBF16, false)).tile_size == 6;
  for (const bool accumulate : {false, true}) {
    expect_near_direct(winograd_conv3d(), c, accumulate,
                       large_tiles ? Tolerance{0.01, 0.15} : kRounding);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, WinogradConv3d,
                         testing::Values(Case{1, 1, 1, 256, 256}, Case{3, 1, 1, 1024, 1024},
                                         Case{1, 5, 4, 512, 512}, Case{5, 7, 3, 512, 256},
                                         Case{2, 13, 25, 256, 512}, Case{4, 9, 11, 512, 1024},
                                         Case{2, 30, 52, 256, 256, 1},
                                         Case{1, 3, 50, 256, 256, 2}));
// The released decoder's lowest resolution, and one that has the larger tiles.
INSTANTIATE_TEST_SUITE_P(Large, WinogradConv3d,
                         testing::Values(Case{2, 44, 78, 256, 256}, Case{2, 44, 78, 512, 512},
                                         Case{1, 44, 78, 1024, 1024}, Case{1, 44, 78, 1024, 512},
                                         Case{2, 44, 78, 512, 256}, Case{2, 88, 156, 256, 256},
                                         Case{1, 91, 103, 512, 512}, Case{1, 88, 156, 1024, 1024}));
constexpr Thrift kSome = Thrift::kSome, kMost = Thrift::kMost;
// Frames that have smaller tiles than they would have without thrift, tiles of 2 for the most part.
INSTANTIATE_TEST_SUITE_P(Thrifty, WinogradConv3d,
                         testing::Values(Case{1, 1, 1, 256, 256, 3, 3, kSome},
                                         Case{5, 7, 3, 512, 256, 3, 3, kSome},
                                         Case{2, 13, 25, 256, 512, 3, 3, kMost},
                                         Case{4, 9, 11, 512, 1024, 2, 3, kMost},
                                         Case{2, 44, 78, 1024, 1024, 3, 3, kSome},
                                         Case{2, 88, 156, 1024, 512, 3, 3, kSome},
                                         Case{1, 88, 156, 512, 512, 3, 3, kMost},
                                         Case{1, 176, 312, 256, 256, 3, 3, kMost}));

TEST_P(WinogradConv3d, DoesNotDependOnWhatElseIsInThePass) {
  const Case& c = GetParam();
  const Conv3dWeights weights = weights_of(c);
  const Data data(c);
  const GuardedArray x(data.x, DType::kBF16), together(std::ssize(data.residual)),
      apart(std::ssize(data.residual));
  const auto run = [&](std::int64_t first, std::int64_t frames, const GuardedArray& to) {
    Case part = c;
    part.frames = frames;
    const auto plan = winograd_conv3d().plan(problem_of(part, DType::kBF16, false), weights);
    plan->prepare({});
    const GuardedArray workspace(static_cast<std::int64_t>(plan->workspace_bytes() / 2));
    const std::int64_t positions = first * c.height * c.width;
    plan->run(
        frames_of(c, x.data() + positions * c.in * 2, DType::kBF16, frames + c.taps - 1, c.in),
        frames_of(c, to.data() + positions * c.out * 2, DType::kBF16, frames, c.out),
        workspace.data(), nullptr);
    device::synchronize(nullptr);
  };
  run(0, c.frames, together);
  for (std::int64_t frame = 0; frame < c.frames; ++frame) run(frame, 1, apart);
  EXPECT_EQ(apart.values(DType::kBF16), together.values(DType::kBF16));
}

class HopperGemmConv3d : public test::OnHopper, public testing::WithParamInterface<Case> {};

TEST_P(HopperGemmConv3d, AgreesWithTheDirectSums) {
  expect_near_direct(hopper_gemm_conv3d(), GetParam(), false, kRounding);
  if (GetParam().side == 1) expect_near_direct(hopper_gemm_conv3d(), GetParam(), true, kRounding);
}

INSTANTIATE_TEST_SUITE_P(OnePixel, HopperGemmConv3d,
                         testing::Values(Case{1, 1, 1, 64, 256, 1, 1},
                                         Case{2, 3, 5, 512, 512, 1, 1},
                                         Case{3, 7, 9, 1024, 2048, 3, 1},
                                         Case{2, 11, 13, 1024, 512, 1, 1},
                                         Case{1, 1, 1, 1024, 3072, 3, 1}));
const auto kToFewChannels =
    testing::Values(Case{1, 1, 1, 256, 12}, Case{3, 1, 7, 256, 12}, Case{4, 6, 1, 256, 12},
                    Case{2, 13, 31, 256, 12}, Case{2, 5, 3, 64, 4}, Case{1, 40, 70, 256, 12, 1});
INSTANTIATE_TEST_SUITE_P(ToFewChannels, HopperGemmConv3d, kToFewChannels);
INSTANTIATE_TEST_SUITE_P(FromFewChannels, HopperGemmConv3d,
                         testing::Values(Case{1, 1, 1, 48, 256}, Case{2, 1, 9, 48, 1024},
                                         Case{3, 11, 13, 48, 1024}, Case{2, 5, 1, 8, 256, 1},
                                         Case{1, 30, 52, 64, 512}));

class CudnnByTapsConv3d : public testing::TestWithParam<Case> {};

// With products rounded to bf16: nine of a third of y's size, and one with the bias.
TEST_P(CudnnByTapsConv3d, AgreesWithTheDirectSums) {
  expect_near_direct(cudnn_by_taps_conv3d(), GetParam(), false, kRounding);
}

INSTANTIATE_TEST_SUITE_P(All, CudnnByTapsConv3d, kToFewChannels);

class WinogradOp : public test::OnHopper {
 protected:
  static constexpr Case kCase{1, 9, 14, 256, 256};

  // Of y, by the op with an input of so many frames at a time: normed frames, histories in front.
  struct Result {
    std::vector<float> y, normed, history;
  };
  static Result convolve(const Conv3dWeights& weights, const std::vector<float>& x,
                         const std::vector<std::int64_t>& passes) {
    constexpr std::int64_t kFrame = kCase.height * kCase.width * kCase.out, kLead = 2;
    const Parameter gamma(test::normal_numbers(kCase.out, 5, DType::kF32));
    const std::int64_t total = std::ssize(x) / kFrame - kLead;
    const GuardedArray x_on_gpu(x, DType::kBF16), y(total * kFrame);
    const GuardedArray history(std::vector<float>(kLead * kFrame, 0.5F), DType::kBF16);
    Result result;
    std::int64_t begin = 0;
    for (const std::int64_t frames : passes) {
      Arena arena;
      PlanCache plans;
      const auto call = [&](bool planning) {
        const Context context{
            .device = kGpu, .arena = &arena, .plans = &plans, .planning = planning};
        Frames input(arena, DType::kBF16, frames, kCase.height, kCase.width, kCase.in, kLead);
        if (!planning) {
          device::copy(input->slice(-kLead, 1).data, x_on_gpu.data() + begin * kFrame * 2,
                       static_cast<std::size_t>((frames + kLead) * kFrame * 2), nullptr);
        }
        const FramesView output =
            frames_of(kCase, y.data() + begin * kFrame * 2, DType::kBF16, frames, kCase.out);
        const Frames normed =
            conv3d_normed(context, weights, std::move(input), &output, nullptr, gamma,
                          frames_of(kCase, history.data(), DType::kBF16, kLead, kCase.out));
        if (planning) return;
        std::vector<std::uint16_t> bits(static_cast<std::size_t>((frames + kLead) * kFrame));
        device::copy(bits.data(), normed->slice(-kLead, 1).data, bits.size() * 2, nullptr);
        device::synchronize(nullptr);
        for (const std::uint16_t value : bits) result.normed.push_back(bf16_to_float(value));
      };
      call(true);
      plans.prepare();
      const device::Memory slab(kGpu, arena.peak());
      test::fill_with_ones(slab.data(), slab.bytes());
      arena.bind(slab.data(), slab.bytes());
      call(false);
      begin += frames;
    }
    result.y = y.values(DType::kBF16);
    result.history = history.values(DType::kBF16);
    return result;
  }
};

// Each pass leads with the two frames before it, at first with what was there to begin with.
TEST_F(WinogradOp, LeadsWithTheHistoryOfEarlierPasses) {
  constexpr std::int64_t kFrame = kCase.height * kCase.width * kCase.out, kFrames = 6;
  const Conv3dWeights weights = weights_of(kCase);
  const std::vector<float> x = test::normal_numbers((kFrames + 2) * kFrame, 3, DType::kBF16);
  const Result whole = convolve(weights, x, {kFrames});
  const std::vector<float>& all = whole.normed;  // 2 + 6 frames
  EXPECT_EQ(std::vector<float>(all.begin(), all.begin() + 2 * kFrame),
            std::vector<float>(2 * kFrame, 0.5F));
  EXPECT_EQ(whole.history, std::vector<float>(all.end() - 2 * kFrame, all.end()));
  for (const std::vector<std::int64_t>& passes :
       {std::vector<std::int64_t>{1, 1, 1, 1, 1, 1}, {1, 2, 3}, {2, 4}, {3, 1, 2}}) {
    const Result result = convolve(weights, x, passes);
    std::vector<float> expected;
    std::int64_t begin = 0;
    for (const std::int64_t frames : passes) {
      expected.insert(expected.end(), all.begin() + begin * kFrame,
                      all.begin() + (begin + frames + 2) * kFrame);
      begin += frames;
    }
    EXPECT_EQ(result.y, whole.y);
    EXPECT_EQ(result.normed, expected);
    EXPECT_EQ(result.history, whole.history);
  }
}

// Plans of any session share a copy for each size of tiles.
TEST_F(WinogradOp, SaysWhatPackingWillTakeUntilItIsDone) {
  constexpr std::size_t kFilters = 256 * 256 * 3, kBias = 256 * sizeof(float);
  const Conv3dWeights weights = weights_of(kCase);
  Conv3dProblem problem = problem_of(kCase, DType::kBF16, false);
  for (const auto& [thrift, components] : {std::pair{Thrift::kNone, 36}, {Thrift::kSome, 16}}) {
    problem.thrift = thrift;
    const std::size_t bytes = kFilters * static_cast<std::size_t>(components) * 2 + kBias;
    PlanCache plans, later;
    for (problem.frames = 1; problem.frames < 3; ++problem.frames) {
      plans.conv3d(weights, problem, kGpu);
      EXPECT_EQ(plans.weight_bytes(), bytes);
      EXPECT_EQ(plans.bytes_to_pack(), bytes);
    }
    plans.load_weights();
    EXPECT_EQ(plans.bytes_to_pack(), 0U);
    later.conv3d(weights, problem, kGpu);
    EXPECT_EQ(later.weight_bytes(), bytes);
    EXPECT_EQ(later.bytes_to_pack(), 0U);
  }
}

TEST_F(WinogradOp, GivesBackOtherWeightsThatNobodyUses) {
  const Conv3dWeights weights = weights_of(kCase);
  const auto plans_of = [&](Thrift thrift) {
    Conv3dProblem problem = problem_of(kCase, DType::kBF16, false);
    problem.thrift = thrift;
    auto plans = std::make_unique<PlanCache>();
    plans->conv3d(weights, problem, kGpu);
    return plans;
  };
  auto large = plans_of(Thrift::kNone);
  large->load_weights();
  const auto small = plans_of(Thrift::kSome);
  small->drop_other_weights();
  small->load_weights();
  EXPECT_EQ(plans_of(Thrift::kNone)->bytes_to_pack(), 0U);  // the other session's
  large.reset();
  const auto again = plans_of(Thrift::kSome);
  again->drop_other_weights();
  EXPECT_EQ(again->bytes_to_pack(), 0U);
  EXPECT_GT(plans_of(Thrift::kNone)->bytes_to_pack(), 0U);
}

TEST_F(WinogradOp, TakesAnotherWayWhereF16CouldOverflow) {
  PlanCache plans;
  const Conv3dProblem problem = problem_of(kCase, DType::kBF16, false);
  const Conv3dWeights usual = weights_of(kCase);
  Conv3dWeights loud = weights_of(kCase);
  loud.set_input_norm(1e5);
  EXPECT_TRUE(plans.conv3d(usual, problem, kGpu).fuses());
  EXPECT_FALSE(plans.conv3d(loud, problem, kGpu).fuses());
}

TEST(SlowConvolutions, SayWhyTheyAreSlow) {
  Conv3dWeights weights = weights_of({1, 2, 2, 4, 4});
  const Case c{1, 2, 2, 4, 4};
  PlanCache plans;
  plans.conv3d(weights, problem_of(c, DType::kBF16, false), kGpu);
  EXPECT_EQ(plans.slow_because(), std::nullopt);  // it takes no time to speak of
  weights.set_costly();
  plans.conv3d(weights, problem_of(c, DType::kF32, false), kGpu);
  EXPECT_EQ(plans.slow_because(), std::nullopt);
  plans.conv3d(weights, problem_of({2, 2, 2, 4, 4}, DType::kBF16, false), kGpu);
  EXPECT_EQ(plans.slow_because(), "channels in multiples of 8 only");
}

}  // namespace
}  // namespace pantograph::ops
