#include <cmath>
#include <map>
#include <sstream>
#include <string_view>

#include "media_test.h"
#include "support/as_ordinary_user.h"

namespace pantograph::test {
namespace {

constexpr VideoShape kShape = {.frames = 13, .height = 64, .width = 96};

class ContainerWriterTest : public testing::Test {
 protected:
  TempDir folder_;
  [[nodiscard]] std::filesystem::path output() const { return folder_ / "a: video.mp4"; }
};

// Saturated colours that change slowly in space and time.
double smooth(std::int64_t t, std::int64_t y, std::int64_t x, int c) {
  const double angle = 0.015 * static_cast<double>(x) + 0.01 * static_cast<double>(y);
  return std::sin(angle + 2.1 * c + 0.1 * static_cast<double>(t));
}

// What ffprobe says of the video stream, key by key; it counts the frames by decoding them.
std::map<std::string, std::string> probe(const std::filesystem::path& path) {
  std::istringstream lines(
      output_of(FFPROBE_PROGRAM " -v error -count_frames -show_streams '" + path.string() + "'"));
  std::map<std::string, std::string> values;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return values;
}

// Mean distance of the decoded file from `source`, in 8-bit levels; both sizes must agree.
double mean_distance(const std::filesystem::path& path, const std::vector<float>& source) {
  // Chroma is put back where H.264 has it, on the left column, with the colours that the file
  // names.
  const std::string decoded =
      decode_rgb24(path, "-vf scale=in_h_chr_pos=0:flags=bicubic+accurate_rnd+full_chroma_int");
  EXPECT_EQ(decoded.size(), source.size());
  if (decoded.size() != source.size()) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    sum += std::abs(static_cast<std::uint8_t>(decoded[i]) - (source[i] + 1) * 127.5);
  }
  return sum / static_cast<double>(decoded.size());
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<std::uint8_t>(byte);
  return value;
}

// The types of the file's outermost boxes (ISO/IEC 14496-12: 32-bit size, type), in their order.
std::vector<std::string> boxes(std::string_view file) {
  std::vector<std::string> types;
  while (file.size() >= 8) {
    types.emplace_back(file.substr(4, 4));
    const std::uint64_t size = big_endian(file.substr(0, 4));
    if (size < 8 || size > file.size()) break;
    file.remove_prefix(size);
  }
  EXPECT_TRUE(file.empty()) << "not a row of boxes";
  return types;
}

TEST_F(ContainerWriterTest, IsWhatPlayersExpect) {
  write_video(output(), make_video(kShape, smooth), kShape, {.frames_per_second = 16});
  auto stream = probe(output());
  EXPECT_EQ(stream["codec_name"], "h264");
  EXPECT_EQ(stream["codec_tag_string"], "avc1");
  EXPECT_EQ(stream["profile"], "High");
  EXPECT_EQ(stream["pix_fmt"], "yuv420p");
  EXPECT_EQ(stream["width"], "96");
  EXPECT_EQ(stream["height"], "64");
  EXPECT_EQ(stream["color_range"], "tv");
  EXPECT_EQ(stream["color_space"], "bt709");
  EXPECT_EQ(stream["color_transfer"], "bt709");
  EXPECT_EQ(stream["color_primaries"], "bt709");
  EXPECT_EQ(stream["chroma_location"], "left");
  EXPECT_EQ(stream["r_frame_rate"], "16/1");
  EXPECT_EQ(stream["avg_frame_rate"], "16/1");
  EXPECT_EQ(stream["nb_frames"], "13");
  EXPECT_EQ(stream["nb_read_frames"], "13");
  EXPECT_EQ(stream["duration"], "0.812500");
}

TEST_F(ContainerWriterTest, PutsTheIndexFirstAndTheColorsInTheContainer) {
  write_video(output(), make_video(kShape, smooth), kShape);
  const std::string file = read_file(output());
  EXPECT_EQ(boxes(file), (std::vector<std::string>{"ftyp", "moov", "free", "mdat"}));
  // The box "colr" with primaries, transfer and matrix 1 (BT.709) and no full-range flag.
  const std::string_view colors("colrnclx\0\1\0\1\0\1\0", 15);
  EXPECT_NE(file.find(colors), std::string::npos);
}

TEST_F(ContainerWriterTest, DecodesBackToTheSamePicture) {
  const std::vector<float> video = make_video(kShape, smooth);
  write_video(output(), video, kShape);
  EXPECT_LT(mean_distance(output(), video), 1.0);
}

TEST_F(ContainerWriterTest, WritesASingleFrame) {
  constexpr VideoShape kOne = {.frames = 1, .height = 16, .width = 16};
  const std::vector<float> video = make_video(kOne, smooth);
  write_video(output(), video, kOne);
  EXPECT_LT(mean_distance(output(), video), 1.0);
  EXPECT_EQ(probe(output())["duration"], "0.041667");
}

TEST_F(ContainerWriterTest, RepeatsTheLastRowAndColumnOfOddSizes) {
  constexpr VideoShape kOdd = {.frames = 2, .height = 33, .width = 47};
  constexpr VideoShape kEven = {.frames = 2, .height = 34, .width = 48};
  write_video(output(), make_video(kOdd, smooth), kOdd);
  const std::vector<float> repeated =
      make_video(kEven, [](std::int64_t t, std::int64_t y, std::int64_t x, int c) {
        return smooth(t, std::min<std::int64_t>(y, 32), std::min<std::int64_t>(x, 46), c);
      });
  EXPECT_LT(mean_distance(output(), repeated), 1.0);
}

TEST_F(ContainerWriterTest, TakesTheQualityAskedFor) {
  const std::vector<float> video = make_video(kShape, smooth);
  write_video(folder_ / "fine.mp4", video, kShape, {.crf = 1});
  write_video(folder_ / "default.mp4", video, kShape);
  write_video(folder_ / "18.mp4", video, kShape, {.crf = 18});
  write_video(folder_ / "coarse.mp4", video, kShape, {.crf = 51});
  EXPECT_EQ(read_file(folder_ / "default.mp4"), read_file(folder_ / "18.mp4"));
  EXPECT_GT(std::filesystem::file_size(folder_ / "fine.mp4"),
            std::filesystem::file_size(folder_ / "18.mp4"));
  EXPECT_LT(std::filesystem::file_size(folder_ / "coarse.mp4"),
            std::filesystem::file_size(folder_ / "18.mp4"));
}

struct Choice {
  const char* name;
  VideoOptions options;
  const char *codec, *tag, *pixels, *profile;  // as ffprobe names them
};

TEST_F(ContainerWriterTest, WritesTheCodecAndPixelsAskedFor) {
  using enum VideoCodec;
  using enum PixelFormat;
  const std::vector<Choice> choices = {
      {"a.mov", {}, "h264", "avc1", "yuv420p", "High"},
      {"b.mkv", {}, "h264", "[0][0][0][0]", "yuv420p", "High"},
      {"c.mp4", {.pixel_format = kYuv444p}, "h264", "avc1", "yuv444p", "High 4:4:4 Predictive"},
      {"d.mp4", {.pixel_format = kYuv420p10}, "h264", "avc1", "yuv420p10le", "High 10"},
      {"e.mp4", {.codec = kHevc}, "hevc", "hvc1", "yuv420p", "Main"},
      {"f.mov",
       {.codec = kHevc, .pixel_format = kYuv420p10},
       "hevc",
       "hvc1",
       "yuv420p10le",
       "Main 10"},
      {"g.mkv",
       {.codec = kHevc, .pixel_format = kYuv444p},
       "hevc",
       "[0][0][0][0]",
       "yuv444p",
       "Rext"},
      {"h.mov", {.codec = kProRes}, "prores", "apch", "yuv422p10le", "HQ"},
      {"i.mkv", {.codec = kFfv1}, "ffv1", "FFV1", "yuv420p", "unknown"},
      {"j.mkv", {.codec = kFfv1, .pixel_format = kYuv444p}, "ffv1", "FFV1", "yuv444p", "unknown"}};
  const std::vector<float> video = make_video(kShape, smooth);
  for (const Choice& choice : choices) {
    SCOPED_TRACE(choice.name);
    VideoOptions options = choice.options;
    options.frames_per_second = 16;
    const auto path = folder_ / choice.name;
    write_video(path, video, kShape, options);
    auto stream = probe(path);
    EXPECT_EQ(stream["codec_name"], choice.codec);
    EXPECT_EQ(stream["codec_tag_string"], choice.tag);
    EXPECT_EQ(stream["pix_fmt"], choice.pixels);
    EXPECT_EQ(stream["profile"], choice.profile);
    EXPECT_EQ(stream["color_range"], "tv");
    EXPECT_EQ(stream["color_space"], "bt709");
    EXPECT_EQ(stream["color_transfer"], "bt709");
    EXPECT_EQ(stream["color_primaries"], "bt709");
    EXPECT_EQ(stream["avg_frame_rate"], "16/1");
    EXPECT_EQ(stream["nb_read_frames"], "13");
    EXPECT_LT(mean_distance(path, video), 1.0);
  }
}

TEST_F(ContainerWriterTest, NeedsNoEvenSidesWithoutSharedChroma) {
  constexpr VideoShape kOdd = {.frames = 2, .height = 33, .width = 47};
  const std::vector<float> video = make_video(kOdd, smooth);
  write_video(output(), video, kOdd, {.pixel_format = PixelFormat::kYuv444p, .crf = 10});
  EXPECT_LT(mean_distance(output(), video), 1.0);
}

TEST_F(ContainerWriterTest, TakesThePresetAskedFor) {
  const std::vector<float> video = make_video(kShape, smooth);
  write_video(folder_ / "fast.mp4", video, kShape, {.preset = "ultrafast"});
  write_video(folder_ / "medium.mp4", video, kShape, {.preset = "medium"});
  write_video(folder_ / "default.mp4", video, kShape);
  EXPECT_EQ(probe(folder_ / "fast.mp4")["profile"], "Constrained Baseline");  // no B-frames
  EXPECT_EQ(read_file(folder_ / "default.mp4"), read_file(folder_ / "medium.mp4"));
}

TEST_F(ContainerWriterTest, RefusesWhatDoesNotGoTogether) {
  using enum VideoCodec;
  const auto expect_refused = [&](const char* name, const VideoOptions& options,
                                  std::initializer_list<std::string_view> parts) {
    expect_error(ErrorKind::kInvalidArgument, parts,
                 [&] { open_video_writer(folder_ / name, kShape, options); });
  };
  expect_refused("v.mp4", {.codec = kFfv1}, {"ffv1 does not go into a .mp4 file", ".mkv"});
  expect_refused("v.mp4", {.codec = kProRes}, {"prores does not go into a .mp4", ".mov, .mkv"});
  expect_refused("v.mov", {.codec = kFfv1}, {"ffv1 does not go into a .mov"});
  expect_refused("v.mov", {.codec = kProRes, .pixel_format = PixelFormat::kYuv420p},
                 {"prores has a pixel format of its own"});
  expect_refused("v.mkv", {.codec = kFfv1, .crf = 20}, {"ffv1 has neither crf nor preset"});
  expect_refused("v.mov", {.codec = kProRes, .preset = "fast"}, {"prores has neither crf nor"});
  expect_refused("v.mp4", {.preset = "quick"}, {"'quick' is no preset", "ultrafast, superfast"});
  expect_refused("v.safetensors", {.codec = kHevc}, {"is for .mp4, .mkv and .mov"});
  expect_refused("frames", {.preset = "fast"}, {"is for .mp4, .mkv and .mov"});
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(ContainerWriterTest, ReplacesAFileOnlyWhenFinished) {
  write_file(output(), "old");
  std::vector<float> video = make_video(kShape, smooth);
  {
    const auto writer = open_video_writer(output(), kShape);
    writer->write(view_of(video, kShape));
    EXPECT_EQ(read_file(output()), "old");
    writer->finish();
  }
  EXPECT_LT(mean_distance(output(), video), 1.0);
}

TEST_F(ContainerWriterTest, LeavesNothingBehindWithoutFinish) {
  std::vector<float> video = make_video(kShape, smooth);
  {
    open_video_writer(output(), kShape)->write(view_of(video, kShape));
  }
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(ContainerWriterTest, NamesTheFileThatDoesNotFit) {
  // Short of the header, of the pictures, and of the space that the index needs in front of them.
  const std::vector<float> video = make_video(kShape, smooth);
  write_video(output(), video, kShape);
  const std::uintmax_t size = std::filesystem::file_size(output());
  std::filesystem::remove(output());
  for (const std::uintmax_t limit : {std::uintmax_t{10}, size / 3, size - 1}) {
    expect_error(ErrorKind::kIo, {output().string()}, [&] {
      const FileSizeLimit file_size_limit(limit);
      write_video(output(), video, kShape);
    });
    EXPECT_EQ(folder_.entries(), 0);
  }
}

TEST_F(ContainerWriterTest, NamesAPlaceThatIsNotWritable) {
  make_read_only(folder_.path());
  const AsOrdinaryUser user;
  expect_error(ErrorKind::kIo, {output().string()}, [&] { open_video_writer(output(), kShape); });
}

TEST_F(ContainerWriterTest, IsAmongTheCodecs) {
  ASSERT_FALSE(video_codecs().empty());
  EXPECT_TRUE(video_codecs().front().starts_with("h264 (lib")) << video_codecs().front();
}

}  // namespace
}  // namespace pantograph::test
