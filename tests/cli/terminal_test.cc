// What a person at a terminal sees, and a program does not.
#include <pty.h>

#include "program.h"

namespace pantograph::test {
namespace {

class TerminalTest : public CliTest {};

// Everything that the program writes to a terminal that is all its standard streams.
std::pair<int, std::string> run_on_terminal(const Arguments& arguments) {
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (process == 0) execute(arguments);
  std::string text;
  char part[4096];
  // Linux fails the read with EIO when the other end is closed.
  for (::ssize_t count; (count = ::read(terminal, part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(count));
  }
  const int code = exit_code_of(process);
  ::close(terminal);
  return {code, text};
}

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

TEST_F(TerminalTest, NamesTheStagesOfAGeneration) {
  const auto [code, text] =
      run_on_terminal({"generate", "--model", golden("pan2_video"), "--prompt", "fox", "-o",
                       folder_ / "video.mp4", "--image", golden("first_frame/same.png"), "--frames",
                       "5", "--height", "32", "--width", "32", "--steps", "2", "--threads", "1"});
  EXPECT_EQ(code, 0) << text;
  std::size_t at = 0;
  for (const char* part : {"\rencoding the prompt", "\rencoding the first frame",
                           "\rdenoising [------------------------] step 1 of 2",
                           "\rdenoising [########################] step 2 of 2, ", " s a step, ",
                           " left", "\rdecoding [########################] 5 of 5 frames, ",
                           "video.mp4: 5 frames of 32 x 32"}) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << "no \"" << part << "\" after " << at << " in: " << text;
    at = found;
  }
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
