#include "bench/pushes.h"

#include <gtest/gtest.h>

#include "models/wan_vae/synthetic.h"

namespace pantograph::bench {
namespace {

class CountingFrames final : public FrameSink {
 public:
  void write(const TensorView& frames) override { count += frames.shape[0]; }
  std::int64_t count = 0;
};

TEST(PushesTest, EveryLatentFrameIsPushedAndWaitedForByItself) {
  const VaeConfig config = wan_vae::tiny_config();
  const wan_vae::MemoryCheckpoint made = wan_vae::make_memory_checkpoint(config, 0);
  const auto decoder = std::make_shared<const wan_vae::Decoder>(config, made.checkpoint);
  std::vector<std::uint16_t> values = wan_vae::make_memory_latents(3, 2, 2, 0);
  const TensorView clip =
      TensorView::dense(values.data(), DType::kBF16, {config.latent_channels, 3, 2, 2});

  wan_vae::Session session(decoder, config, 2, 2, {.frames_per_pass = 1});
  CountingFrames sink;
  std::vector<std::int64_t> frames_at_finish;
  PushTimes times;
  push_singly(session, clip, sink, [&] { frames_at_finish.push_back(sink.count); }, times);
  EXPECT_EQ(frames_at_finish, (std::vector<std::int64_t>{1, 5, 9}));
  EXPECT_EQ(times.first.size(), 1U);
  EXPECT_EQ(times.later.size(), 2U);
}

TEST(PushesTest, AClipOfOneLatentFrameHasNoLaterPush) {
  Json::Object result;
  std::string line;
  add_pushes({.first = {0.25, 0.5, 0.75}, .later = {}}, result, line);
  EXPECT_EQ(Json(result).dump(), R"({"first_frame_seconds":0.5,"first_frame_seconds_min":0.25,)"
                                 R"("first_frame_seconds_max":0.75})");
  EXPECT_EQ(line, ", first frame after 0.5 s (0.25 to 0.75)");
}

}  // namespace
}  // namespace pantograph::bench
