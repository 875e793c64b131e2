// Whole samplings against the transcription of the DiT and diffusers' scheduler.
#include "pipeline/sample_latents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/golden_tensors.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::GoldenTensors;

constexpr double kTolerance = 1e-3;

const std::shared_ptr<const pan2_dit::Dit>& dit() {
  static const auto opened =
      pan2_dit::Dit::open(std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / "pan2_dit/tiny");
  return opened;
}

// The request that a golden sampling answers; views into `golden`.
SamplingRequest request_of(const GoldenTensors& golden, bool has_first_frame) {
  const TensorView noise = golden.view("noise");
  SamplingRequest request{
      .size = {.frames = noise.shape[1], .height = noise.shape[2], .width = noise.shape[3]},
      .positive = golden.view("positive"),
      .negative = golden.view("negative")};
  if (has_first_frame) request.first_frame = golden.view("first_frame");
  request.noise = [&golden](std::int64_t draw, std::span<float> values) {
    const auto source = draw == 0
                            ? golden.values("noise")
                            : golden.values("fresh_noise")
                                  .subspan(static_cast<std::size_t>(draw - 1) * values.size());
    std::copy_n(source.begin(), values.size(), values.begin());
  };
  return request;
}

// Latents after every step, and what is returned.
void expect_sampling(const GoldenTensors& golden, const SchedulerConfig& config,
                     const SamplingRequest& request) {
  const std::span<const float> expected = golden.values("latents");
  const std::size_t size = golden.values("noise").size();
  SamplingCallbacks callbacks;
  std::size_t steps = 0;
  callbacks.on_step = [&](const StepProgress& progress) {
    EXPECT_LE(test::largest_difference(progress.latents, expected.subspan(steps * size, size)),
              kTolerance)
        << "after step " << steps + 1;
    ++steps;
  };
  const std::vector<float> latents = sample_latents(dit(), config, request, {}, {}, callbacks);
  EXPECT_EQ(steps * size, expected.size());
  EXPECT_LE(test::largest_difference(latents, expected.last(size)), kTolerance);
}

TEST(SampleLatents, TextToVideoInFourSteps) {
  const GoldenTensors golden("pan2_dit/tiny/t2v.safetensors");
  SamplingRequest request = request_of(golden, false);
  request.schedule.steps = 4;
  expect_sampling(golden, {.shift = 9}, request);
}

TEST(SampleLatents, ImageToVideoInFourSteps) {
  const GoldenTensors golden("pan2_dit/tiny/i2v.safetensors");
  SamplingRequest request = request_of(golden, true);
  request.schedule.steps = 4;
  expect_sampling(golden, {.shift = 9}, request);
}

TEST(SampleLatents, FewStepsWithFreshNoiseAndWithoutGuidance) {
  const GoldenTensors golden("pan2_dit/tiny/renoise.safetensors");
  SamplingRequest request = request_of(golden, true);
  request.schedule = {.sigmas = {1, 0.75, 0.5, 0.25}, .shift = 5};
  request.guidance = 1;
  request.negative = {};  // not read
  expect_sampling(golden, {.shift = 9, .sampler = Sampler::kRenoise}, request);
  request.sampler = Sampler::kRenoise;
  expect_sampling(golden, {.shift = 9}, request);
}

TEST(SampleLatents, BlocksOfBothBranchesAreCountedAndCancellingStopsBetweenThem) {
  const GoldenTensors golden("pan2_dit/tiny/t2v.safetensors");
  const CancelToken cancel;
  std::vector<std::int64_t> told;
  SamplingCallbacks callbacks;
  callbacks.on_block = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 6);  // 3 blocks, two branches
    told.push_back(done);
    if (done == 5) cancel.cancel();
  };
  expect_error(ErrorKind::kCancelled, {"cancelled"}, [&] {
    sample_latents(dit(), {}, request_of(golden, false), {}, cancel, callbacks);
  });
  EXPECT_EQ(told, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST(SampleLatents, ASeedIsAVideoOnAnyNumberOfThreads) {
  const GoldenTensors golden("pan2_dit/tiny/t2v.safetensors");
  SamplingRequest request = request_of(golden, false);
  request.schedule.steps = 1;
  request.noise = seeded_noise(11);
  const std::vector<float> one = sample_latents(dit(), {}, request, {.threads = 1});
  const std::vector<float> two = sample_latents(dit(), {}, request, {.threads = 2});
  EXPECT_LE(test::largest_difference(one, two), 1e-4);
  request.noise = seeded_noise(12);
  EXPECT_GT(test::largest_difference(one, sample_latents(dit(), {}, request)), 0.1);
}

TEST(SampleLatents, RequestsAreCheckedBeforeTheModelRuns) {
  const GoldenTensors golden("pan2_dit/tiny/i2v.safetensors");
  const SamplingRequest good = request_of(golden, true);
  EXPECT_NO_THROW(check_request(good, dit()->config(), {}));
  const auto refused = [](const SamplingRequest& request,
                          std::initializer_list<std::string_view> parts) {
    expect_error(ErrorKind::kInvalidArgument, parts,
                 [&] { check_request(request, dit()->config(), {}); });
  };
  SamplingRequest bad = good;
  bad.guidance = -1;
  refused(bad, {"guidance is -1"});
  bad = good;
  bad.schedule.steps = 0;
  refused(bad, {"steps is 0"});
  bad = good;
  bad.size.width = 8;
  refused(bad, {"first frame", "[48, 1, 4, 6]", "[48, 1, 4, 8]"});
  bad = good;
  bad.positive = TensorView::dense(good.positive.data, DType::kF32, {35, 8});
  expect_error(ErrorKind::kInvalidArgument, {"expected [tokens, 40]"},
               [&] { sample_latents(dit(), {}, bad); });
}

}  // namespace
}  // namespace pantograph
