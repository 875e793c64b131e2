#include "media/color.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace pantograph {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint8_t kUntouched = 1;  // no value of a limited-range picture

struct Planes {
  std::vector<std::uint8_t> y, cb, cr;
};

// The planes of `frame` in a picture of the given size whose rows lie one byte further apart than
// they are long.
Planes convert(const RgbFrame& frame, std::int64_t height, std::int64_t width) {
  const std::int64_t chroma_height = (height + 1) / 2, chroma_width = (width + 1) / 2;
  const auto chroma_bytes = static_cast<std::size_t>(chroma_height * (chroma_width + 1));
  Planes planes{std::vector(static_cast<std::size_t>(height * (width + 1)), kUntouched),
                std::vector(chroma_bytes, kUntouched), std::vector(chroma_bytes, kUntouched)};
  rgb_to_yuv(frame, {.height = height,
                     .width = width,
                     .y = {planes.y.data(), width + 1},
                     .cb = {planes.cb.data(), chroma_width + 1},
                     .cr = {planes.cr.data(), chroma_width + 1}});
  return planes;
}

Planes convert(const std::vector<float>& rgb, std::int64_t height, std::int64_t width) {
  return convert(RgbFrame{rgb.data(), height, width}, height, width);
}

struct Bar {
  std::array<float, 3> rgb;
  std::array<std::uint8_t, 3> ycbcr;
};

// The 8-bit levels of 100% colour bars in BT.709, as broadcast test signals define them.
constexpr std::array<Bar, 8> kColorBars = {{
    {{1, 1, 1}, {235, 128, 128}},
    {{1, 1, -1}, {219, 16, 138}},
    {{-1, 1, 1}, {188, 154, 16}},
    {{-1, 1, -1}, {173, 42, 26}},
    {{1, -1, 1}, {78, 214, 230}},
    {{1, -1, -1}, {63, 102, 240}},
    {{-1, -1, 1}, {32, 240, 118}},
    {{-1, -1, -1}, {16, 128, 128}},
}};

// The same bars in 10 bits, each pixel with chroma of its own.
constexpr std::array<std::array<std::uint16_t, 3>, 8> kColorBars10 = {{{940, 512, 512},
                                                                       {877, 64, 553},
                                                                       {754, 615, 64},
                                                                       {691, 167, 105},
                                                                       {313, 857, 919},
                                                                       {250, 409, 960},
                                                                       {127, 960, 471},
                                                                       {64, 512, 512}}};

TEST(RgbToYuv, GivesTenBitsAndFullChromaWhereAsked) {
  std::vector<float> rgb;
  for (const Bar& bar : kColorBars) rgb.insert(rgb.end(), bar.rgb.begin(), bar.rgb.end());
  std::array<std::array<std::uint16_t, 8>, 3> planes{};
  const auto plane = [&](int i) {
    return Plane{reinterpret_cast<std::uint8_t*>(planes[i].data()), 16};
  };
  rgb_to_yuv({rgb.data(), 1, 8}, {.height = 1,
                                  .width = 8,
                                  .y = plane(0),
                                  .cb = plane(1),
                                  .cr = plane(2),
                                  .halved_across = false,
                                  .halved_down = false,
                                  .depth = 10});
  for (std::size_t x = 0; x < 8; ++x) {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(planes[i][x], kColorBars10[x][i]) << x << " " << i;
  }
}

TEST(RgbToYuv, HalvesAcrossOnlyWhereAsked) {
  // Rows of blue and black: every row keeps its own chroma.
  const std::vector<float> rgb = {-1, -1, 1, -1, -1, 1, -1, -1, -1, -1, -1, -1};
  std::array<std::uint8_t, 4> y{};
  std::array<std::uint8_t, 2> cb{}, cr{};
  rgb_to_yuv({rgb.data(), 2, 2}, {.height = 2,
                                  .width = 2,
                                  .y = {y.data(), 2},
                                  .cb = {cb.data(), 1},
                                  .cr = {cr.data(), 1},
                                  .halved_down = false});
  EXPECT_EQ(y, (std::array<std::uint8_t, 4>{32, 32, 16, 16}));
  EXPECT_EQ(cb, (std::array<std::uint8_t, 2>{240, 128}));
  EXPECT_EQ(cr, (std::array<std::uint8_t, 2>{118, 128}));
}

TEST(RgbToYuv, GivesTheLevelsOfColorBars) {
  for (const Bar& bar : kColorBars) {
    std::vector<float> rgb;
    for (int i = 0; i < 4; ++i) rgb.insert(rgb.end(), bar.rgb.begin(), bar.rgb.end());
    const Planes planes = convert(rgb, 2, 2);
    const std::uint8_t y = bar.ycbcr[0];
    EXPECT_EQ(planes.y, (std::vector<std::uint8_t>{y, y, kUntouched, y, y, kUntouched}));
    EXPECT_EQ(planes.cb[0], bar.ycbcr[1]);
    EXPECT_EQ(planes.cr[0], bar.ycbcr[2]);
  }
}

TEST(RgbToYuv, RoundsGreyToNearest) {
  // 16 + 219 * 0.4 = 103.6 and 16 + 219 * 0.2 = 59.8, no chroma
  const Planes planes = convert({-0.2F, -0.2F, -0.2F, -0.6F, -0.6F, -0.6F}, 1, 2);
  EXPECT_EQ(planes.y, (std::vector<std::uint8_t>{104, 60, kUntouched}));
  EXPECT_EQ(planes.cb[0], 128);
  EXPECT_EQ(planes.cr[0], 128);
}

TEST(RgbToYuv, SitesChromaOnTheLeftColumn) {
  // Red in columns 0 to 3, black from 4 on. Cr of a mean red r is 128 + 112 r. The third sample
  // lies on column 4 and sees column 3 with weight 1/4; a sample in the middle of columns 4 and 5
  // would see no red.
  std::vector<float> rgb;
  for (int i = 0; i < 16; ++i) {
    rgb.insert(rgb.end(), {i % 8 < 4 ? 1.0F : -1.0F, -1, -1});
  }
  const Planes planes = convert(rgb, 2, 8);
  EXPECT_EQ(planes.cr, (std::vector<std::uint8_t>{240, 240, 156, 128, kUntouched}));
}

TEST(RgbToYuv, SitesChromaBetweenTwoRows) {
  // One red row of three: Cr of the first pair is 128 + 112 / 2, of the lone last row 128.
  std::vector<float> rgb = {1, -1, -1, -1, -1, -1, -1, -1, -1};
  const Planes planes = convert(rgb, 3, 1);
  EXPECT_EQ(planes.cr, (std::vector<std::uint8_t>{184, kUntouched, 128, kUntouched}));
  EXPECT_EQ(planes.y, (std::vector<std::uint8_t>{63, kUntouched, 16, kUntouched, 16, kUntouched}));
}

TEST(RgbToYuv, RepeatsTheLastRowAndColumnIntoALargerPicture) {
  const std::vector<float> red = {1, -1, -1};
  const Planes planes = convert(RgbFrame{red.data(), 1, 1}, 2, 2);
  EXPECT_EQ(planes.y, (std::vector<std::uint8_t>{63, 63, kUntouched, 63, 63, kUntouched}));
  EXPECT_EQ(planes.cb[0], 102);
  EXPECT_EQ(planes.cr[0], 240);
}

TEST(RgbToYuv, ClampsWhatLiesOutsideAndTakesNanForBlack) {
  const Planes planes = convert({7, kInfinity, 1.5F, kNan, -3, -kInfinity}, 1, 2);
  EXPECT_EQ(planes.y, (std::vector<std::uint8_t>{235, 16, kUntouched}));
}

TEST(RgbToRgb24, RoundsAndClamps) {
  // 127.5 * (0.3 + 1) = 165.75, 127.5 * 0.3 = 38.25
  const std::vector<float> rgb = {-1, 1, 0.3F, -0.7F, 9, kNan};
  std::vector<std::uint8_t> bytes(8, kUntouched);
  rgb_to_rgb24({rgb.data(), 2, 1}, {bytes.data(), 4});
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0, 255, 166, kUntouched, 38, 255, 0, kUntouched}));
}

}  // namespace
}  // namespace pantograph
