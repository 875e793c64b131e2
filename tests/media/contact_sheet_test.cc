#include "media_test.h"

namespace pantograph::test {
namespace {

class ContactSheetTest : public testing::Test {
 protected:
  TempDir folder_;
  [[nodiscard]] VideoOptions options() const { return {.contact_sheet = folder_ / "sheet.png"}; }
};

// Every frame is one grey: its number is its 8-bit level.
std::vector<float> numbered(const VideoShape& shape) {
  return make_video(shape, [](std::int64_t t, std::int64_t, std::int64_t, int) {
    return static_cast<double>(t) / 127.5 - 1;
  });
}

int level_at(const std::string& rgb24, std::int64_t width, std::int64_t y, std::int64_t x) {
  return static_cast<std::uint8_t>(rgb24[static_cast<std::size_t>((y * width + x) * 3)]);
}

TEST_F(ContactSheetTest, ShowsSixteenFramesFromTheFirstToTheLast) {
  constexpr VideoShape kShape = {.frames = 31, .height = 6, .width = 8};
  write_video(folder_ / "v.safetensors", numbered(kShape), kShape, options());
  const std::string sheet = decode_rgb24(folder_ / "sheet.png");
  ASSERT_EQ(sheet.size(), 4U * 6 * 4 * 8 * 3);
  for (std::int64_t tile = 0; tile < 16; ++tile) {
    EXPECT_EQ(level_at(sheet, 32, tile / 4 * 6 + 3, tile % 4 * 8 + 4), 2 * tile);
  }
}

TEST_F(ContactSheetTest, LeavesTilesBlackThatThereAreNoFramesFor) {
  constexpr VideoShape kShape = {.frames = 5, .height = 4, .width = 4};
  std::vector<float> white(static_cast<std::size_t>(5 * 4 * 4 * 3), 1.0F);
  write_video(folder_ / "v.safetensors", white, kShape, options());
  const std::string sheet = decode_rgb24(folder_ / "sheet.png");
  ASSERT_EQ(sheet.size(), 2U * 4 * 3 * 4 * 3);
  EXPECT_EQ(level_at(sheet, 12, 5, 5), 255);  // the fifth
  EXPECT_EQ(level_at(sheet, 12, 5, 9), 0);
}

TEST_F(ContactSheetTest, ShrinksLargeFrames) {
  constexpr VideoShape kShape = {.frames = 1, .height = 320, .width = 640};
  const std::vector<float> halves =  // black above, white below
      make_video(kShape,
                 [](std::int64_t, std::int64_t y, std::int64_t, int) { return y < 160 ? -1 : 1; });
  write_video(folder_ / "v.safetensors", halves, kShape, options());
  const std::string sheet = decode_rgb24(folder_ / "sheet.png");
  ASSERT_EQ(sheet.size(), 160U * 320 * 3);
  EXPECT_EQ(level_at(sheet, 320, 70, 100), 0);
  EXPECT_EQ(level_at(sheet, 320, 90, 100), 255);
}

TEST_F(ContactSheetTest, IsNotThereUnlessTheVideoIs) {
  constexpr VideoShape kShape = {.frames = 2, .height = 4, .width = 4};
  std::vector<float> video = numbered(kShape);
  {
    open_video_writer(folder_ / "v.safetensors", kShape, options())->write(view_of(video, kShape));
  }
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(ContactSheetTest, RefusesAnotherFormat) {
  constexpr VideoShape kShape = {.frames = 2, .height = 4, .width = 4};
  expect_error(ErrorKind::kInvalidArgument, {"sheet.jpg", "NAME.png"}, [&] {
    open_video_writer(folder_ / "v.mp4", kShape, {.contact_sheet = folder_ / "sheet.jpg"});
  });
  EXPECT_EQ(folder_.entries(), 0);
}

}  // namespace
}  // namespace pantograph::test
