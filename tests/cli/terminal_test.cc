// What a person at a terminal sees, and a program does not.
#include "terminal.h"

namespace pantograph::test {
namespace {

class TerminalTest : public CliTest {};

TEST_F(TerminalTest, DrawsProgressInOneLine) {
  const auto [code, text] =
      run_on_terminal(decode(golden_clip("t5_1x1"), folder_ / "video.safetensors") +
                      Arguments{"--frames-per-pass", "1"});
  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text.find("\r[#-"), 0U) << text;
  EXPECT_NE(text.find("] 1 of 17 frames, "), std::string::npos) << text;
  EXPECT_NE(text.find(" frames/s, "), std::string::npos) << text;
  EXPECT_NE(text.find(" left"), std::string::npos) << text;
  const std::size_t last = text.find("[########################] 17 of 17 frames, ");
  ASSERT_NE(last, std::string::npos) << text;
  EXPECT_LT(last, text.find('\n'));  // the bar's only line
  EXPECT_GT(text.find("video.safetensors: 17 frames of 16 x 16"), text.find('\n'));
}

TEST_F(TerminalTest, IsSilentWithoutOne) {
  const Result result = run(decode(golden_clip("t5_1x1"), folder_ / "video.safetensors"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
}

TEST_F(TerminalTest, DoesNotFloodItWithAVideo) {
  const auto [code, text] = run_on_terminal(decode(golden_clip("t1_1x1"), "-"));
  EXPECT_EQ(code, 2);
  EXPECT_NE(text.find("standard output is a terminal"), std::string::npos) << text;
  EXPECT_EQ(text.find("YUV4MPEG2 W"), std::string::npos);
}

}  // namespace
}  // namespace pantograph::test
