#include <algorithm>

#include "media_test.h"
#include "support/as_ordinary_user.h"

namespace pantograph::test {
namespace {

constexpr VideoShape kShape = {.frames = 3, .height = 33, .width = 35};

class PngWriterTest : public testing::Test {
 protected:
  TempDir folder_;
};

// Walks through all the 256 levels and beyond both ends.
int level(std::int64_t t, std::int64_t y, std::int64_t x, int c) {
  return static_cast<int>((t * 101 + y * 35 + x * 3 + std::int64_t{7} * c) % 260) - 2;
}

std::vector<float> levels() {
  return make_video(kShape, [](std::int64_t t, std::int64_t y, std::int64_t x, int c) {
    return level(t, y, x, c) / 127.5 - 1;
  });
}

void expect_levels(const std::filesystem::path& folder) {
  const std::string decoded = decode_rgb24(folder / "frame_%06d.png");
  ASSERT_EQ(decoded.size(), static_cast<std::size_t>(3 * 33 * 35 * 3));
  std::size_t i = 0, wrong = 0;
  for (std::int64_t t = 0; t < kShape.frames; ++t) {
    for (std::int64_t y = 0; y < kShape.height; ++y) {
      for (std::int64_t x = 0; x < kShape.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          const int expected = std::clamp(level(t, y, x, c), 0, 255);
          wrong += static_cast<std::uint8_t>(decoded[i++]) != expected;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0U);
}

TEST_F(PngWriterTest, DecodesBackExactly) {
  write_video(folder_ / "frames", levels(), kShape);
  expect_levels(folder_ / "frames");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "frames")) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names,
            (std::vector<std::string>{"frame_000000.png", "frame_000001.png", "frame_000002.png"}));
}

TEST_F(PngWriterTest, FillsAnEmptyFolder) {
  std::filesystem::create_directory(folder_ / "some.frames");
  write_video(folder_ / "some.frames/", levels(), kShape);
  expect_levels(folder_ / "some.frames");
}

TEST_F(PngWriterTest, RefusesAFolderWithFilesInIt) {
  write_file(folder_ / "frame_000099.png", "old");
  expect_error(ErrorKind::kInvalidArgument, {"is not empty"},
               [&] { open_video_writer(folder_.path(), kShape); });
}

TEST_F(PngWriterTest, LeavesNothingBehindWithoutFinish) {
  std::vector<float> video = levels();
  {
    open_video_writer(folder_ / "frames", kShape)->write(view_of(video, kShape));
  }
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(PngWriterTest, NamesTheFileThatDoesNotFit) {
  expect_error(ErrorKind::kIo, {(folder_ / "frames/frame_000000.png").string()}, [&] {
    const FileSizeLimit limit(100);
    write_video(folder_ / "frames", levels(), kShape);
  });
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(PngWriterTest, NamesAPlaceThatIsNotWritable) {
  make_read_only(folder_.path());
  const AsOrdinaryUser user;
  const std::filesystem::path frames = folder_ / "frames";
  expect_error(ErrorKind::kIo, {frames.string()}, [&] { open_video_writer(frames, kShape); });
}

TEST_F(PngWriterTest, IsAmongTheCodecs) {
  const std::vector<std::string> codecs = video_codecs();
  EXPECT_TRUE(std::any_of(codecs.begin(), codecs.end(), [](const std::string& codec) {
    return codec.starts_with("png (FFmpeg ");
  }));
}

}  // namespace
}  // namespace pantograph::test
