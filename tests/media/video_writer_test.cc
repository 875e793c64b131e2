#include "pantograph/video_writer.h"

#include "checkpoint/safetensors.h"
#include "media_test.h"
#include "support/as_ordinary_user.h"

namespace pantograph::test {
namespace {

constexpr VideoShape kShape = {.frames = 2, .height = 2, .width = 3};

class VideoWriterTest : public testing::Test {
 protected:
  TempDir folder_;
  [[nodiscard]] std::filesystem::path output() const { return folder_ / "video.safetensors"; }
};

// Multiples of 1/64 below 1: exact in bf16 too.
double value(std::int64_t t, std::int64_t y, std::int64_t x, int c) {
  return static_cast<double>(((t * 2 + y) * 3 + x) * 3 + c) / 64;
}

TEST_F(VideoWriterTest, WritesATensorWithChannelsBeforeRows) {
  write_video(output(), make_video(kShape, value), kShape);
  const SafetensorsFile file = SafetensorsFile::open(output());
  ASSERT_EQ(file.header().tensors.size(), 1U);
  const TensorEntry& entry = file.header().tensors.at("video");
  EXPECT_EQ(entry.dtype, DType::kF32);
  EXPECT_EQ(entry.shape, (std::vector<std::int64_t>{2, 3, 2, 3}));
  const auto* stored = static_cast<const float*>(file.view("video").data);
  for (std::int64_t t = 0; t < 2; ++t) {
    for (int c = 0; c < 3; ++c) {
      for (std::int64_t y = 0; y < 2; ++y) {
        for (std::int64_t x = 0; x < 3; ++x) EXPECT_EQ(*stored++, value(t, y, x, c));
      }
    }
  }
}

TEST_F(VideoWriterTest, WritesATensorAsBf16) {
  write_video(output(), make_video(kShape, value), kShape, {.tensor_dtype = DType::kBF16});
  const SafetensorsFile file = SafetensorsFile::open(output());
  EXPECT_EQ(file.header().tensors.at("video").dtype, DType::kBF16);
  const auto* stored = static_cast<const std::uint16_t*>(file.view("video").data);
  EXPECT_EQ(stored[0], 0);                       // frame 0, row 0, column 0: red 0
  EXPECT_EQ(stored[6], 0x3c80);                  // the same pixel's green: 1/64
  EXPECT_EQ(stored[2 * 3 * 2 * 3 - 1], 0x3f0c);  // the last blue: 35/64 = 0.546875
}

TEST_F(VideoWriterTest, RefusesWhatItCannotWrite) {
  const auto open_with = [&](const VideoShape& shape, const VideoOptions& options) {
    return [=, this] { open_video_writer(output(), shape, options); };
  };
  const auto kind = ErrorKind::kInvalidArgument;
  expect_error(kind, {"crf 52"}, open_with(kShape, {.crf = 52}));
  expect_error(kind, {"crf -1"}, open_with(kShape, {.crf = -1}));
  expect_error(kind, {"0 frames per second"}, open_with(kShape, {.frames_per_second = 0}));
  expect_error(kind, {"not as f16"}, open_with(kShape, {.tensor_dtype = DType::kF16}));
  expect_error(kind, {"0 frames of 2 x 3"}, open_with({.frames = 0, .height = 2, .width = 3}, {}));
  expect_error(kind, {"1 frames of 2 x 16385"},
               open_with({.frames = 1, .height = 2, .width = 16385}, {}));
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(VideoWriterTest, NamesTheFormatsForAnUnknownExtension) {
  for (const std::filesystem::path& name : {folder_ / "video.avi", std::filesystem::path()}) {
    expect_error(ErrorKind::kInvalidArgument,
                 {"give NAME.mp4, NAME.mkv, NAME.mov, NAME.safetensors"},
                 [&] { open_video_writer(name, kShape); });
  }
}

TEST_F(VideoWriterTest, RefusesFramesOfAnotherShape) {
  std::vector<float> video = make_video(kShape, value);
  const auto writer = open_video_writer(output(), kShape);
  const auto expect_refused = [&](TensorView frames) {
    expect_error(ErrorKind::kInvalidArgument, {"dense f32 [n, 2, 3, 3]"},
                 [&] { writer->write(frames); });
  };
  TensorView frames = view_of(video, kShape);
  expect_refused(TensorView::dense(video.data(), DType::kF32, {2, 3, 2, 3}));
  expect_refused(TensorView::dense(video.data(), DType::kF32, {2, 3, 3}));
  expect_refused(TensorView::dense(video.data(), DType::kBF16, {2, 2, 3, 3}));
  expect_refused(TensorView::dense(video.data(), DType::kF32, {2, 2, 3, 3}, {DeviceKind::kCuda}));
  frames.strides[1] = 18;
  expect_refused(frames);
}

TEST_F(VideoWriterTest, HoldsTheNumberOfFramesAgainstTheShape) {
  std::vector<float> video = make_video(kShape, value);
  const TensorView frames = view_of(video, kShape);
  {
    const auto writer = open_video_writer(output(), kShape);
    writer->write(frames.slice(0, 0, 1));
    expect_error(ErrorKind::kInvalidArgument, {"3 frames were written to a video of 2"},
                 [&] { writer->write(frames); });
    expect_error(ErrorKind::kInvalidArgument, {"1 frames were written to a video of 2"},
                 [&] { writer->finish(); });
  }
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(VideoWriterTest, LeavesNothingBehindWithoutFinish) {
  std::vector<float> video = make_video(kShape, value);
  {
    const auto writer = open_video_writer(output(), kShape);
    writer->write(view_of(video, kShape));
    EXPECT_FALSE(std::filesystem::exists(output()));
    EXPECT_EQ(folder_.entries(), 1);
  }
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(VideoWriterTest, NamesAPlaceThatIsNotWritable) {
  make_read_only(folder_.path());
  const AsOrdinaryUser user;
  expect_error(ErrorKind::kIo, {output().string()}, [&] { open_video_writer(output(), kShape); });
}

TEST_F(VideoWriterTest, NamesAFolderThatIsNotThere) {
  const std::filesystem::path path = folder_ / "absent" / "video.safetensors";
  expect_error(ErrorKind::kNotFound, {path.string()}, [&] { open_video_writer(path, kShape); });
}

TEST_F(VideoWriterTest, NamesATensorFileThatDoesNotFit) {
  expect_error(ErrorKind::kIo, {output().string()}, [&] {
    const FileSizeLimit limit(100);
    write_video(output(), make_video(kShape, value), kShape);
  });
  EXPECT_EQ(folder_.entries(), 0);
}

}  // namespace
}  // namespace pantograph::test
