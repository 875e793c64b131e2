// Ctrl-C during a decode.
#include <chrono>
#include <thread>

#include "program.h"

namespace pantograph::test {
namespace {

class InterruptTest : public CliTest {
 protected:
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

}  // namespace
}  // namespace pantograph::test
