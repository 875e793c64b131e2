// Ctrl-C during a generation.
#include <chrono>
#include <thread>

#include "program.h"

namespace pantograph::test {
namespace {

class GenerateInterruptTest : public CliTest {
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
};

TEST_F(GenerateInterruptTest, WhileDenoisingTheVideosBeforeStay) {
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

TEST_F(GenerateInterruptTest, WhileDecodingOnlyWholeLatentsStay) {
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
