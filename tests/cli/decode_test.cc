// Every kind of output of `pantograph decode`, held against the golden clips.
#include <cmath>

#include "checkpoint/json.h"
#include "media/media_test.h"
#include "program.h"

namespace pantograph::test {
namespace {

class DecodeTest : public CliTest {};

// The golden video of one clip, or of item `b` of a batch: value(frame, y, x, channel) in [-1, 1].
class GoldenVideo {
 public:
  explicit GoldenVideo(const std::string& clip, std::int64_t b = 0)
      : file_(SafetensorsFile::open(golden_clip(clip))), view_(file_.view("video")) {
    if (view_.rank == 5) {
      const TensorView item = view_.slice(0, b, 1);
      view_ = TensorView::dense(item.data, item.dtype, item.sizes().subspan(1));
    }
  }
  [[nodiscard]] VideoShape shape() const {
    return {view_.shape[1], view_.shape[2], view_.shape[3]};
  }
  [[nodiscard]] double value(std::int64_t t, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return static_cast<const float*>(
        view_.data)[c * view_.strides[0] + t * view_.strides[1] + y * view_.strides[2] + x];
  }
  // visit(frame, y, x, channel) for all, frames outermost, channels innermost.
  template <typename Visit>
  void each(Visit&& visit) const {
    const VideoShape size = shape();
    for (std::int64_t t = 0; t < size.frames; ++t) {
      for (std::int64_t y = 0; y < size.height; ++y) {
        for (std::int64_t x = 0; x < size.width; ++x) {
          for (std::int64_t c = 0; c < 3; ++c) visit(t, y, x, c);
        }
      }
    }
  }

 private:
  SafetensorsFile file_;
  TensorView view_;
};

// Largest distance of a decoded "video" [frames, 3, H, W] from the golden one.
double distance(const std::filesystem::path& output, const GoldenVideo& expected) {
  const SafetensorsFile file = SafetensorsFile::open(output);
  const TensorView video = file.view("video");
  const VideoShape size = expected.shape();
  const std::vector<std::int64_t> shape = {size.frames, 3, size.height, size.width};
  EXPECT_EQ(std::vector<std::int64_t>(video.sizes().begin(), video.sizes().end()), shape);
  const auto* values = static_cast<const float*>(video.data);
  double largest = 0;
  expected.each([&](std::int64_t t, std::int64_t y, std::int64_t x, std::int64_t c) {
    const float value = values[((t * 3 + c) * size.height + y) * size.width + x];
    largest = std::max(largest, std::abs(value - expected.value(t, y, x, c)));
  });
  return largest;
}

TEST_F(DecodeTest, ATensorFileEqualsTheGoldenVideo) {
  for (const char* clip : {"t1_1x1", "t2_3x5", "t3_1x2"}) {
    const Result result = run(decode(golden_clip(clip), folder_ / "video.safetensors"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_LE(distance(folder_ / "video.safetensors", GoldenVideo(clip)), 2e-4) << clip;
  }
}

TEST_F(DecodeTest, NormalizedLatentsGiveTheSameVideo) {
  const Result result = run({"decode", "--vae", golden("tiny"), "--latents",
                             golden_clip("t2_2x1_normalized"), "--tensor", "latents_normalized",
                             "--latent-scale", "normalized", "-o", folder_ / "video.safetensors",
                             "--frames-per-pass", "1", "--threads", "1", "--device", "cpu"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LE(distance(folder_ / "video.safetensors", GoldenVideo("t2_2x1_normalized")), 2e-4);
}

TEST_F(DecodeTest, TheGeneralAlgorithmIsWhatACpuHasAnyway) {
  for (const char* algorithm : {"auto", "general"}) {
    const Result result =
        run(decode(golden_clip("t1_2x2"), folder_ / (std::string(algorithm) + ".safetensors")) +
            Arguments{"--algorithm", algorithm});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(read_file(folder_ / "general.safetensors"), read_file(folder_ / "auto.safetensors"));
}

TEST_F(DecodeTest, APassIsNeverLongerThanTheClip) {
  const Result result = run(decode(golden_clip("t3_1x2"), folder_ / "video.safetensors") +
                            Arguments{"--frames-per-pass", "2147483647"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LE(distance(folder_ / "video.safetensors", GoldenVideo("t3_1x2")), 2e-4);
}

TEST_F(DecodeTest, ABatchGivesAFileForEachVideo) {
  const Result result = run(decode(golden_clip("b2_t2_1x2"), folder_ / "video.safetensors"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(folder_.entries(), 2);
  for (const int b : {0, 1}) {
    const auto output = folder_ / ("video_" + std::to_string(b) + ".safetensors");
    EXPECT_LE(distance(output, GoldenVideo("b2_t2_1x2", b)), 2e-4);
    EXPECT_NE(result.out.find(output.string() + ": 5 frames of 32 x 16"), std::string::npos);
  }
}

TEST_F(DecodeTest, AnMp4HasEveryFrame) {
  const Result result = run(decode(golden_clip("t2_3x5"), folder_ / "a video.mp4"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find((folder_ / "a video.mp4").string() + ": 5 frames of 80 x 48"), 0U);
  EXPECT_EQ(decode_rgb24(folder_ / "a video.mp4").size(), 5U * 80 * 48 * 3);
  EXPECT_EQ(folder_.entries(), 1);
}

TEST_F(DecodeTest, ABatchGetsAContactSheetForEachVideo) {
  const Result result = run(decode(golden_clip("b2_t2_1x2"), folder_ / "v.mkv") +
                            Arguments{"--codec", "ffv1", "--pix-fmt", "yuv444p", "--contact-sheet",
                                      folder_ / "sheet.png"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(folder_.entries(), 4);
  for (const char* name : {"v_0.mkv", "v_1.mkv"}) {
    EXPECT_EQ(decode_rgb24(folder_ / name).size(), 5U * 32 * 16 * 3);
  }
  for (const char* name : {"sheet_0.png", "sheet_1.png"}) {  // 5 frames: 3 columns, 2 rows
    EXPECT_EQ(decode_rgb24(folder_ / name).size(), std::size_t{3 * 32 * 2 * 16 * 3});
  }
}

TEST_F(DecodeTest, PngFilesHoldTheFramesInEightBits) {
  const Result result = run(decode(golden_clip("t2_3x5"), folder_ / "frames"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string decoded = decode_rgb24(folder_ / "frames/frame_%06d.png");
  ASSERT_EQ(decoded.size(), 5U * 80 * 48 * 3);
  std::size_t i = 0;
  double largest = 0;
  const GoldenVideo expected("t2_3x5");
  expected.each([&](std::int64_t t, std::int64_t y, std::int64_t x, std::int64_t c) {
    const double level = (expected.value(t, y, x, c) + 1) * 127.5;
    largest = std::max(largest, std::abs(static_cast<std::uint8_t>(decoded[i++]) - level));
  });
  EXPECT_LE(largest, 0.5 + 2e-4 * 127.5);
}

TEST_F(DecodeTest, APipeGetsYuv4Mpeg2AndNothingElse) {
  const Result result = run(decode(golden_clip("t2_3x5"), "-") + Arguments{"--fps", "16"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("standard output: 5 frames of 80 x 48"), std::string::npos);
  const std::size_t header = result.out.find('\n') + 1;
  EXPECT_EQ(result.out.find("YUV4MPEG2 W80 H48 F16:1 "), 0U);
  const std::size_t frame = 6 + 80 * 48 * 3 / 2;  // "FRAME\n", then a quarter of the chroma
  ASSERT_EQ(result.out.size(), header + 5 * frame);
  // Luma of BT.709 in limited range.
  double largest = 0;
  const GoldenVideo expected("t2_3x5");
  expected.each([&](std::int64_t t, std::int64_t y, std::int64_t x, std::int64_t c) {
    if (c != 0) return;
    const auto unit = [&](int channel) { return (expected.value(t, y, x, channel) + 1) / 2; };
    const double luma = 16 + 219 * (0.2126 * unit(0) + 0.7152 * unit(1) + 0.0722 * unit(2));
    const char stored = result.out[header + t * frame + 6 + y * 80 + x];
    largest = std::max(largest, std::abs(static_cast<std::uint8_t>(stored) - luma));
  });
  EXPECT_LE(largest, 0.55);
}

TEST_F(DecodeTest, JsonIsOneObjectWithEveryField) {
  const Result result =
      run(decode(golden_clip("b2_t2_1x2"), folder_ / "v.mp4") + Arguments{"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const Json summary = parse_json(result.out, "standard output");
  double number = 0;
  for (const char* key : {"open_seconds", "total_seconds", "peak_memory_bytes"}) {
    ASSERT_NE(summary.find(key), nullptr) << key;
    EXPECT_TRUE(summary.find(key)->number(number)) << key;
    EXPECT_GT(number, 0) << key;
  }
  EXPECT_EQ(*summary.find("device")->string(), "cpu");
  const Json::Array& videos = *summary.find("videos")->array();
  ASSERT_EQ(videos.size(), 2U);
  EXPECT_EQ(*videos[0].find("output")->string(), (folder_ / "v_0.mp4").string());
  EXPECT_EQ(*videos[1].find("output")->string(), (folder_ / "v_1.mp4").string());
  for (const Json& video : videos) {
    EXPECT_EQ(*video.find("frames")->integer(), 5);
    EXPECT_EQ(*video.find("height")->integer(), 16);
    EXPECT_EQ(*video.find("width")->integer(), 32);
    for (const char* key : {"latent_frames_per_pass", "planned_bytes", "prepare_seconds",
                            "weight_seconds", "decode_seconds", "write_seconds"}) {
      ASSERT_NE(video.find(key), nullptr) << key;
      EXPECT_TRUE(video.find(key)->number(number)) << key;
      EXPECT_GE(number, 0) << key;
    }
  }
}

TEST_F(DecodeTest, MadeCheckpointsAndLatentsDecode) {
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    const auto vae = folder_ / dtype;
    const auto latents = folder_ / "latents.safetensors";
    EXPECT_EQ(run({"make", "vae", "--tiny", "--dtype", dtype, vae}).exit_code, 0);
    EXPECT_EQ(run({"make", "latents", "--shape", "2,1,3", "--dtype", dtype, latents}).exit_code, 0);
    const Result result = run(decode(latents, folder_ / "v.mp4", vae));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("5 frames of 48 x 16"), std::string::npos) << result.out;
  }
}

TEST_F(DecodeTest, TheSameSeedGivesTheSameBytes) {
  const auto latents = [&](const char* name, const char* seed) {
    EXPECT_EQ(
        run({"make", "latents", "--shape", "1,2,2", "--seed", seed, folder_ / name}).exit_code, 0);
    return read_file(folder_ / name);
  };
  EXPECT_EQ(latents("a", "7"), latents("b", "7"));
  EXPECT_NE(latents("a", "7"), latents("c", "8"));
}

}  // namespace
}  // namespace pantograph::test
