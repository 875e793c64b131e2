// Ctrl-C during a decode or a generation.
#include <chrono>
#include <thread>

#include "program.h"

namespace pantograph::test {
namespace {

class InterruptTest : public CliTest {
 protected:
  // Ctrl-C, once `file` is there.
  static Result interrupt_after(const std::filesystem::path& file, const Arguments& arguments) {
    Program program(arguments);
    while (!std::filesystem::exists(file) &&
           ::waitid(P_PID, program.process(), nullptr, WEXITED | WNOHANG | WNOWAIT) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(program.process(), SIGINT);
    return program.wait();
  }

  // A decode of minutes, interrupted once its output is being written.
  Result interrupt(int signal, const std::string& output) {
    const auto latents = folder_ / "latents.safetensors";
    EXPECT_EQ(run({"make", "latents", "--shape", "4000,4,4", latents}).exit_code, 0);
    const std::ptrdiff_t before = folder_.entries();
    Program program(decode(latents, folder_ / output) + Arguments{"--frames-per-pass", "1"});
    while (folder_.entries() == before &&
           ::waitid(P_PID, program.process(), nullptr, WEXITED | WNOHANG | WNOWAIT) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(program.process(), signal);
    Result result = program.wait();
    std::filesystem::remove(latents);
    return result;
  }
};

TEST_F(InterruptTest, EndsWith130AndLeavesNothing) {
  for (const char* output : {"video.mp4", "video.safetensors", "frames"}) {
    expect_failure(interrupt(SIGINT, output), 130, {"cancelled"});
    EXPECT_EQ(folder_.entries(), 0);
  }
}

TEST_F(InterruptTest, TerminationAndAHangUpEndAsCleanly) {
  expect_failure(interrupt(SIGTERM, "video.mp4"), 143, {"cancelled"});
  expect_failure(interrupt(SIGHUP, "video.mp4"), 129, {"cancelled"});
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(InterruptTest, TheOldFileStays) {
  write_file(folder_ / "video.mp4", "what was there before");
  expect_failure(interrupt(SIGINT, "video.mp4"), 130, {"cancelled"});
  EXPECT_EQ(read_file(folder_ / "video.mp4"), "what was there before");
  EXPECT_EQ(folder_.entries(), 1);
}

TEST_F(InterruptTest, WhileDenoisingTheVideosBeforeStay) {
  write_file(folder_ / "prompts.txt", "fox\n{\"prompt\": \"wolf\", \"steps\": 10000}\n");
  const Result result = interrupt_after(
      folder_ / "0001.mp4",
      {"generate", "--model", golden("pan2_video"), "--prompts", folder_ / "prompts.txt", "-o",
       folder_ / "{}.mp4", "--save-latents", folder_ / "{}.safetensors", "--frames", "5",
       "--height", "64", "--width", "64", "--steps", "1", "--threads", "1"});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find("line 2: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("cancelled"), std::string::npos) << result.err;
  EXPECT_EQ(folder_.entries(), 3);  // the prompts, the first video and its latents
}

TEST_F(InterruptTest, WhileDecodingOnlyWholeLatentsStay) {
  const auto latents = folder_ / "latents.safetensors";
  const Result result = interrupt_after(latents, {"generate",
                                                  "--model",
                                                  golden("pan2_video"),
                                                  "--prompt",
                                                  "fox",
                                                  "-o",
                                                  folder_ / "video.mp4",
                                                  "--save-latents",
                                                  latents,
                                                  "--frames",
                                                  "1601",
                                                  "--height",
                                                  "32",
                                                  "--width",
                                                  "32",
                                                  "--steps",
                                                  "1",
                                                  "--guidance",
                                                  "1",
                                                  "--threads",
                                                  "1"});
  expect_failure(result, 130, {"cancelled"});
  EXPECT_EQ(folder_.entries(), 1);
  EXPECT_EQ(SafetensorsFile::open(latents).view("latents").shape[1], 401);
}

}  // namespace
}  // namespace pantograph::test
