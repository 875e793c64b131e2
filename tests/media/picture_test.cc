// A first frame against the one Pillow makes (tools/golden/first_frame.py).
#include "media/picture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

std::filesystem::path first_frames() {
  return std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / "first_frame";
}

int largest_difference(const Picture& picture, const TensorView& expected) {
  if (expected.shape[0] != picture.height || expected.shape[1] != picture.width) return 256;
  const auto* values = static_cast<const std::uint8_t*>(expected.data);
  int largest = 0;
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) {
    largest = std::max(largest, std::abs(int{picture.rgb[i]} - int{values[i]}));
  }
  return largest;
}

TEST(FirstFrame, IsPillowsWithinOneLevel) {
  const SafetensorsFile expected = SafetensorsFile::open(first_frames() / "expected.safetensors");
  ASSERT_EQ(expected.header().tensors.size(), 15);
  for (const auto& [name, entry] : expected.header().tensors) {
    Picture picture;
    PictureReader reader = PictureReader::open(first_frames() / name);
    ASSERT_TRUE(reader.next(picture)) << name;
    // JPEG decoders differ by their own rounding of the colour matrix.
    const int most = name.ends_with(".jpg") ? 2 : 1;
    EXPECT_LE(
        largest_difference(covering(picture, entry.shape[0], entry.shape[1]), expected.view(name)),
        most)
        << name;
    EXPECT_FALSE(reader.next(picture)) << name;
  }
}

TEST(FirstFrame, BlackIsMinusOneAndWhiteIsOne) {
  const Picture picture{.height = 1, .width = 1, .rgb = {0, 255, 51}};
  const std::vector<float> values = to_float(picture);
  EXPECT_FLOAT_EQ(values[0], -1.0F);
  EXPECT_FLOAT_EQ(values[1], 1.0F);
  EXPECT_NEAR(values[2], -0.6F, 1e-6F);
}

TEST(PictureReader, GivesEveryFrameOfAVideo) {
  const test::TempDir folder;
  const auto clip = folder.path() / "clip.mp4";
  const std::string command = std::string(FFMPEG_PROGRAM) +
                              " -v error -f lavfi -i testsrc=size=64x48:rate=8:duration=1 " +
                              clip.string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  PictureReader reader = PictureReader::open(clip);
  Picture picture;
  int frames = 0;
  while (reader.next(picture)) {
    ++frames;
    EXPECT_EQ(picture.height, 48);
    EXPECT_EQ(picture.width, 64);
  }
  EXPECT_EQ(frames, 8);
}

TEST(PictureReader, SaysWhatIsWrongWithAFile) {
  const test::TempDir folder;
  test::expect_error(ErrorKind::kNotFound, {"no such file"},
                     [&] { PictureReader::open(folder.path() / "absent.png"); });
  test::expect_error(ErrorKind::kInvalidArgument, {"not a file"},
                     [&] { PictureReader::open(folder.path()); });
  std::ofstream(folder.path() / "text.png") << "this is no image, whatever its name says";
  test::expect_error(ErrorKind::kFormat, {"text.png"}, [&] {
    PictureReader reader = PictureReader::open(folder.path() / "text.png");
    Picture picture;
    reader.next(picture);
  });
}

TEST(PictureReader, RefusesAnAbsurdSizeFromTheHeaderAlone) {
  const test::TempDir folder;
  // The header of the same picture with another width: 2^30 pixels a line.
  std::ifstream source(first_frames() / "same.png", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(source)), {});
  bytes[16] = 0x40;
  std::ofstream(folder.path() / "bomb.png", std::ios::binary) << bytes;
  try {
    PictureReader reader = PictureReader::open(folder.path() / "bomb.png");
    Picture picture;
    reader.next(picture);
    ADD_FAILURE() << "a picture of 2^30 pixels a line was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bomb.png"), std::string::npos);
  }
}

}  // namespace
}  // namespace pantograph
