// Each stage of a generation alone. What they make together is held to others' in tests/cli.
#include "pipeline/stages.h"

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/golden_clip.h"
#include "support/golden_tensors.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::golden;
using test::GoldenTensors;
using test::TempDir;

Pan2Model& model() {
  static Pan2Model opened = open_pan2(golden("pan2_video"));
  return opened;
}

// A request that every stage takes.
GenerateRequest small_request(const TempDir& folder) {
  GenerateSettings settings;
  settings.prompt = "fox";
  settings.frames = 5;
  settings.height = settings.width = 32;
  settings.steps = 1;
  settings.output = folder / "video.mp4";
  return make_request(settings);
}

// Small work is done soonest by one thread.
StageOptions on_one_thread() {
  StageOptions options;
  options.context.threads = 1;
  return options;
}

StageOptions cancelled() {
  StageOptions options = on_one_thread();
  options.cancel.cancel();
  return options;
}

class StagesTest : public testing::Test {
 protected:
  TempDir folder_;
  GenerateRequest request_ = small_request(folder_);
};

TEST_F(StagesTest, ValidateLeavesNothingBehind) {
  request_.save_latents = folder_ / "latents.safetensors";
  request_.video.contact_sheet = folder_ / "sheet.png";
  EXPECT_NO_THROW(validate(request_, model()));
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(StagesTest, ValidateNamesTheDevice) {
  StageOptions options;
  options.context.device = {.kind = DeviceKind::kCuda};
  expect_error(ErrorKind::kUnsupported, {"on a CPU only", "--device cpu"},
               [&] { validate(request_, model(), options); });
}

TEST_F(StagesTest, AStripIsNoFirstFrame) {
  // Its height alone would have to grow 704 times.
  const Picture strip{.height = 1, .width = 32768, .rgb = std::vector<std::uint8_t>(3 * 32768)};
  expect_error(ErrorKind::kInvalidArgument, {"32768 x 1 would grow", "crop it"},
               [&] { (void)covering(strip, 704, 1248); });
}

TEST_F(StagesTest, TextIsWhatTransformersMakesOfIt) {
  const GoldenTensors expected("pan2_video/t2v.safetensors");
  request_.prompt = "A red fox walks through fresh snow.";
  const EncodedPrompts prompts = encode_text(request_, *model().text, on_one_thread());
  EXPECT_EQ(prompts.positive->states.tokens, expected.view("positive").shape[0]);
  EXPECT_EQ(prompts.positive->tokens_cut, 0);
  const std::span<const float> values = expected.values("positive");
  EXPECT_LE(test::largest_difference(prompts.positive->states.values, values),
            1e-4 * test::largest_magnitude(values));
}

TEST_F(StagesTest, TextIsEncodedOnceWhereRequestsShareIt) {
  request_.negative_prompt = "blurred";
  const EncodedPrompts first = encode_text(request_, *model().text, on_one_thread());
  ASSERT_NE(first.negative, nullptr);
  EXPECT_EQ(encode_text(request_, *model().text, on_one_thread(), first).negative, first.negative);
  request_.negative_prompt = "sharp";
  EXPECT_NE(encode_text(request_, *model().text, on_one_thread(), first).negative, first.negative);
  request_.guidance = 1;
  EXPECT_EQ(encode_text(request_, *model().text, on_one_thread(), first).negative, nullptr);
}

TEST_F(StagesTest, TheFirstFrameIsPillowsAndDiffusers) {
  const GoldenTensors expected("pan2_video/i2v.safetensors");
  request_.image = golden("first_frame/wide.png");
  request_.height = 64;
  EXPECT_LE(test::largest_difference(condition(request_, model().vae, on_one_thread()),
                                     expected.values("first_frame")),
            1e-4);
  request_.image.clear();
  EXPECT_TRUE(condition(request_, model().vae, on_one_thread()).empty());
}

TEST_F(StagesTest, EveryStageStops) {
  const EncodedPrompts prompts = encode_text(request_, *model().text, on_one_thread());
  const Latents latents = denoise(request_, model(), prompts, {}, on_one_thread());
  EXPECT_EQ(latents.shape, (std::vector<std::int64_t>{48, 2, 2, 2}));
  request_.image = golden("first_frame/same.png");
  const auto stops = [](const auto& stage) {
    expect_error(ErrorKind::kCancelled, {"cancelled"}, stage);
  };
  stops([&] { (void)encode_text(request_, *model().text, cancelled()); });
  stops([&] { (void)condition(request_, model().vae, cancelled()); });
  stops([&] { (void)denoise(request_, model(), prompts, {}, cancelled()); });
  test::CollectingSink sink;
  stops([&] { (void)decode(latents, model().vae, sink, cancelled()); });
}

TEST_F(StagesTest, SavedLatentsSayTheirScale) {
  const Latents latents{.values = {1, 2, 3, 4}, .shape = {2, 1, 1, 2}};
  save_latents(latents, folder_ / "latents.safetensors");
  const SafetensorsFile file = SafetensorsFile::open(folder_ / "latents.safetensors");
  EXPECT_EQ(file.header().metadata.at("latent_scale"), "normalized");
  const TensorView view = file.view("latents");
  EXPECT_EQ(view.dtype, DType::kF32);
  const std::vector<std::int64_t> shape(view.sizes().begin(), view.sizes().end());
  EXPECT_EQ(shape, latents.shape);
  const auto* values = static_cast<const float*>(view.data);
  EXPECT_EQ(std::vector<float>(values, values + 4), latents.values);
}

}  // namespace
}  // namespace pantograph
