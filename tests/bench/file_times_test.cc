#include "bench/file_times.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace pantograph::bench {
namespace {

using test::TempDir;

// Stands for a decode: two writes, of one frame and of two, all of whose values are `value`.
void write_three_frames(FrameSink& sink, float value) {
  std::vector<float> frames(std::size_t{2} * 4 * 6 * 3, value);
  for (const std::int64_t count : {1, 2}) {
    sink.write(TensorView::dense(frames.data(), DType::kF32, {count, 4, 6, 3}));
  }
}

TEST(FileTimesTest, TheEncoderWritesWhatTheDecodeWrote) {
  const TempDir dir;
  const std::filesystem::path output = dir / "video.safetensors", alone = dir / "alone.safetensors";
  const VideoShape shape{.frames = 3, .height = 4, .width = 6};
  int decodes = 0;
  const FileTimes times = time_file(output, shape, 2, [&](FrameSink& sink) {
    write_three_frames(sink, ++decodes == 1 ? 0.5F : -1);
  });
  EXPECT_EQ(decodes, 3);  // one warms up
  EXPECT_EQ(times.decode.size(), 2U);
  EXPECT_EQ(times.encoder.size(), 2U);

  // What lies there now is the encoder's: the frames of the first decode.
  const auto expected = open_video_writer(alone, shape);
  write_three_frames(*expected, 0.5F);
  expected->finish();
  EXPECT_EQ(test::read_file(output), test::read_file(alone));
}

TEST(FileTimesTest, RatiosAreToTheDecodeAlone) {
  Json::Object result;
  std::string line;
  add_file({.decode = {3, 2, 4}, .encoder = {1, 0.5, 2}}, 2, result, line);
  const Json json(result);
  double file = 0, encoder = 0, over_decode = 0, encoder_over_decode = 0;
  ASSERT_TRUE(json.find("file_seconds")->number(file));
  ASSERT_TRUE(json.find("encoder_seconds")->number(encoder));
  ASSERT_TRUE(json.find("file_over_decode")->number(over_decode));
  ASSERT_TRUE(json.find("encoder_over_decode")->number(encoder_over_decode));
  EXPECT_EQ(file, 3);
  EXPECT_EQ(encoder, 1);
  EXPECT_EQ(over_decode, 1.5);
  EXPECT_EQ(encoder_over_decode, 0.5);
}

}  // namespace
}  // namespace pantograph::bench
