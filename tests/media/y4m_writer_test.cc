#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "media/frame_encoder.h"
#include "media_test.h"

namespace pantograph::test {
namespace {

class Y4mWriterTest : public testing::Test {
 protected:
  TempDir folder_;
};

TEST_F(Y4mWriterTest, WritesHeaderAndPlanesOfAnOddSize) {
  const std::filesystem::path path = folder_ / "stream";
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  const std::vector<float> white(27, 1.0F), black(27, -1.0F);
  const auto writer = open_y4m(descriptor, {.frames = 2, .height = 3, .width = 3}, 24);
  writer->write({white.data(), 3, 3});
  writer->write({black.data(), 3, 3});
  writer->finish();
  ::close(descriptor);

  std::string expected =
      "YUV4MPEG2 W3 H3 F24:1 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED\n";
  for (const char luma : {'\xeb', '\x10'}) {  // 235, 16; then 2 x 2 samples of Cb and of Cr
    expected += "FRAME\n" + std::string(9, luma) + std::string(8, '\x80');
  }
  EXPECT_EQ(read_file(path), expected);
}

TEST_F(Y4mWriterTest, WritesToStandardOutput) {
  const std::filesystem::path path = folder_ / "stream";
  std::fflush(stdout);
  const int saved = ::dup(STDOUT_FILENO);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(descriptor, STDOUT_FILENO);
  write_video("-", std::vector<float>(12, 1.0F), {.frames = 1, .height = 2, .width = 2},
              {.frames_per_second = 16});
  ::dup2(saved, STDOUT_FILENO);
  ::close(descriptor);
  ::close(saved);

  EXPECT_EQ(read_file(path),
            "YUV4MPEG2 W2 H2 F16:1 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED\n"
            "FRAME\n\xeb\xeb\xeb\xeb\x80\x80");
}

TEST_F(Y4mWriterTest, NamesAReaderThatIsGone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  expect_error(ErrorKind::kIo, {"its reader is gone"},
               [&] { open_y4m(ends[1], {.frames = 1, .height = 2, .width = 2}, 24); });
  ::close(ends[1]);
}

TEST_F(Y4mWriterTest, NamesAFullDisk) {
  const int descriptor = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(descriptor, 0);
  expect_error(ErrorKind::kIo, {"No space left on device"},
               [&] { open_y4m(descriptor, {.frames = 1, .height = 2, .width = 2}, 24); });
  ::close(descriptor);
}

}  // namespace
}  // namespace pantograph::test
