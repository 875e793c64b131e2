#include "media_test.h"

namespace pantograph::test {
namespace {

class NoFfmpegTest : public testing::Test {
 protected:
  TempDir folder_;
};

TEST_F(NoFfmpegTest, NamesThePackagesToInstall) {
  for (const char* name : {"video.mp4", "frames"}) {
    expect_error(ErrorKind::kUnsupported, {"install libavformat-dev, libavcodec-dev"}, [&] {
      open_video_writer(folder_ / name, {.frames = 1, .height = 2, .width = 2});
    });
  }
  EXPECT_EQ(folder_.entries(), 0);
  EXPECT_TRUE(video_codecs().empty());
}

}  // namespace
}  // namespace pantograph::test
