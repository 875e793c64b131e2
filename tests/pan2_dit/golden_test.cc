// The DiT against its plain-PyTorch transcription (tools/golden/pan2_dit.py), block by block.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/pan2_dit/dit.h"
#include "support/golden_tensors.h"

namespace pantograph::pan2_dit {
namespace {

using test::GoldenTensors;
using test::largest_difference;
using test::largest_magnitude;

constexpr double kTolerance = 5e-5;  // in the unit of a tensor's largest value

void expect_close(std::span<const float> ours, std::span<const float> golden,
                  const std::string& what) {
  EXPECT_LE(largest_difference(ours, golden), kTolerance * largest_magnitude(golden)) << what;
}

std::filesystem::path golden_folder(const std::string& name) {
  return std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / "pan2_dit" / name;
}

class GoldenRun {
 public:
  GoldenRun(const std::string& folder, const std::string& file,
            const std::vector<LoraFile>& adapters)
      : golden_("pan2_dit/" + folder + "/" + file + ".safetensors"),
        dit_(Dit::open(golden_folder(folder), adapters)),
        session_(dit_, size()) {}

  std::vector<float> forward(double timestep, const Session::BlockCallback& on_block = {}) {
    text = session_.refine(golden_.view("hidden_states"));
    std::vector<float> velocity(golden_.values("noisy").size());
    session_.forward({.noisy = golden_.data("noisy"),
                      .conditioning = golden_.data("conditioning"),
                      .mask = golden_.data("mask"),
                      .text = &text,
                      .timestep = timestep},
                     velocity.data(), on_block);
    return velocity;
  }
  const GoldenTensors& golden() { return golden_; }
  RefinedText text;

 private:
  LatentSize size() {
    const TensorView noisy = golden_.view("noisy");
    return {.frames = noisy.shape[1], .height = noisy.shape[2], .width = noisy.shape[3]};
  }
  GoldenTensors golden_;
  std::shared_ptr<const Dit> dit_;
  Session session_;
};

class DitGolden : public testing::TestWithParam<const char*> {};

TEST_P(DitGolden, EveryBlockIsTheTranscriptions) {
  GoldenRun run(GetParam(), "forward", {});
  const GoldenTensors& golden = run.golden();
  const std::int64_t video = golden.view("tokens").shape[0];
  std::int64_t blocks = 0;
  const std::vector<float> velocity = run.forward(
      golden.values("timestep")[0], [&](std::int64_t done, std::int64_t total, const RowsView& x) {
        const std::string name = "block." + std::to_string(blocks) + ".";
        EXPECT_EQ(done, ++blocks);
        EXPECT_LE(done, total);
        const auto split = static_cast<std::size_t>(video * x.columns);
        const std::span<const float> all(x.f32(), static_cast<std::size_t>(x.rows * x.columns));
        expect_close(all.first(split), golden.values(name + "video"), name + "video");
        expect_close(all.subspan(split), golden.values(name + "text"), name + "text");
      });
  EXPECT_GE(blocks, 1);
  expect_close(run.text.values, golden.values("text"), "text");
  expect_close(velocity, golden.values("velocity"), "velocity");
}

INSTANTIATE_TEST_SUITE_P(All, DitGolden, testing::Values("tiny", "odd"));

TEST(DitGolden, AnAdapterIsMergedAsTheTranscriptionMergesIt) {
  GoldenRun run("tiny", "lora_forward",
                {{.path = golden_folder("tiny") / "lora.safetensors", .scale = 0.5}});
  expect_close(run.forward(500), run.golden().values("velocity"), "velocity");
}

TEST(DitGolden, TwoAdaptersOfAHalfAreOne) {
  const LoraFile half{.path = golden_folder("tiny") / "lora.safetensors", .scale = 0.25};
  GoldenRun run("tiny", "lora_forward", {half, half});
  expect_close(run.forward(500), run.golden().values("velocity"), "velocity");
}

TEST(DitGolden, TheSinusoidIsCosinesThenSines) {
  float values[kTimestepChannels];
  fill_sinusoid(500, values);
  EXPECT_NEAR(values[0], std::cos(500.0), 1e-5);
  EXPECT_NEAR(values[kTimestepChannels / 2], std::sin(500.0), 1e-5);
  const double slowest = 500 * std::pow(10000.0, -127.0 / 128);
  EXPECT_NEAR(values[kTimestepChannels / 2 - 1], std::cos(slowest), 1e-6);
  EXPECT_NEAR(values[kTimestepChannels - 1], std::sin(slowest), 1e-6);
}

}  // namespace
}  // namespace pantograph::pan2_dit
