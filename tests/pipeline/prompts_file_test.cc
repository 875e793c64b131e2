#include "pipeline/prompts_file.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::TempDir;
using test::write_file;

class PromptsFileTest : public testing::Test {
 protected:
  std::vector<GenerateSettings> read(const std::string& text) {
    return read_prompts(write_file(folder_ / "p.txt", text), common_);
  }
  void expect_refused(const std::string& text, ErrorKind kind,
                      std::initializer_list<std::string_view> parts) {
    expect_error(kind, parts, [&] { read(text); });
  }
  TempDir folder_;
  GenerateSettings common_{.frames = 9, .steps = 4, .seed = 2, .output = "clips/{}.mkv"};
};

TEST_F(PromptsFileTest, LinesArePromptsOrObjects) {
  const auto requests = read("  a fox, running\r\n\n \t\n{\"prompt\": \"a wolf\"}\n\u72d0\u72f8");
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].prompt, "  a fox, running");
  EXPECT_EQ(requests[0].output, "clips/0001.mkv");
  EXPECT_EQ(requests[0].place, (folder_ / "p.txt").string() + ": line 1");
  EXPECT_EQ(requests[1].prompt, "a wolf");
  EXPECT_EQ(requests[1].output, "clips/0004.mkv");
  EXPECT_EQ(requests[2].prompt, "\u72d0\u72f8");
  EXPECT_EQ(requests[2].output, "clips/0005.mkv");
}

TEST_F(PromptsFileTest, EverySettingOfALineWins) {
  const std::string line =
      R"({"prompt": "p", "negative_prompt": "n", "image": "i.png", "frames": 5, "height": 64, )"
      R"("width": 32, "fps": 12, "steps": 3, "shift": 2, "guidance": 1.5, "seed": 7, )"
      R"("sampler": "renoise", "output": "o.mp4", "save_latents": "z.safetensors"})";
  const GenerateSettings request = read(line).front();
  EXPECT_EQ(request.prompt, "p");
  EXPECT_EQ(request.negative_prompt, "n");
  EXPECT_EQ(request.image, "i.png");
  EXPECT_EQ(request.frames, 5);
  EXPECT_EQ(request.height, 64);
  EXPECT_EQ(request.width, 32);
  EXPECT_EQ(request.frames_per_second, 12);
  EXPECT_EQ(request.steps, 3);
  EXPECT_EQ(request.shift, 2.0);
  EXPECT_EQ(request.guidance, 1.5);
  EXPECT_EQ(request.seed, 7);
  EXPECT_EQ(request.sampler, Sampler::kRenoise);
  EXPECT_EQ(request.output, "o.mp4");
  EXPECT_EQ(request.save_latents, "z.safetensors");
}

TEST_F(PromptsFileTest, WhatALineDoesNotSayIsTheCommandLines) {
  common_.save_latents = folder_.path();
  const GenerateSettings request = read(R"({"seed": 7})").front();
  EXPECT_EQ(request.seed, 7);
  EXPECT_EQ(request.frames, 9);
  EXPECT_EQ(request.steps, 4);
  EXPECT_EQ(request.save_latents, folder_ / "0001.safetensors");
}

TEST_F(PromptsFileTest, StepsAndSigmasReplaceEachOther) {
  EXPECT_EQ(read(R"({"sigmas": [1, 0.5]})").front().sigmas, (std::vector<double>{1, 0.5}));
  common_.sigmas = {1, 0.75};
  EXPECT_TRUE(read(R"({"steps": 3})").front().sigmas.empty());
  EXPECT_EQ(read(R"({"prompt": "p"})").front().sigmas, (std::vector<double>{1, 0.75}));
  expect_refused(R"({"steps": 3, "sigmas": [1]})", ErrorKind::kFormat,
                 {"line 1", "\"steps\" and \"sigmas\""});
}

TEST_F(PromptsFileTest, WhatIsWrongIsSaidWithItsLine) {
  expect_refused("", ErrorKind::kFormat, {"p.txt"});
  expect_refused("\n", ErrorKind::kFormat, {"no prompt in it"});
  expect_refused("fox\n{\"prompt\": 3}", ErrorKind::kFormat,
                 {"line 2", "\"prompt\" must be a text"});
  expect_refused("{\"prompt\": \"p\"", ErrorKind::kFormat, {"line 1"});
  expect_refused("{\"steps\": 1.5}", ErrorKind::kFormat, {"line 1", "\"steps\"", "1.5"});
  expect_refused("{\"seed\": -1}", ErrorKind::kFormat, {"\"seed\"", "-1"});
  expect_refused("{\"fps\": 0}", ErrorKind::kFormat, {"\"fps\"", "from 1 to 1000"});
  expect_refused("{\"guidance\": \"much\"}", ErrorKind::kFormat, {"\"guidance\""});
  expect_refused("{\"sigmas\": []}", ErrorKind::kFormat, {"\"sigmas\" must be a list of numbers"});
  expect_refused("{\"sigmas\": [1, null]}", ErrorKind::kFormat, {"\"sigmas\""});
  expect_refused("{\"sampler\": \"heun\"}", ErrorKind::kFormat, {"\"heun\"", "euler or renoise"});
  expect_refused("{\"speed\": 1}", ErrorKind::kFormat,
                 {"\"speed\" is no setting", "frames, guidance, height"});
}

TEST_F(PromptsFileTest, NoTwoLinesShareAFile) {
  common_.output = "clip.mp4";
  EXPECT_EQ(read("fox").front().output, "clip.mp4");
  expect_refused("fox\nwolf", ErrorKind::kInvalidArgument,
                 {"line 2 and ", "line 1 would both be written to clip.mp4", "{}.mp4"});
  common_.output = "{}.mp4";
  common_.save_latents = "z.safetensors";
  expect_refused("fox\nwolf", ErrorKind::kInvalidArgument, {"z.safetensors"});
  expect_refused(
      "{\"output\": \"./a.mp4\", \"save_latents\": \"1\"}\n"
      "{\"output\": \"a.mp4\", \"save_latents\": \"2\"}",
      ErrorKind::kInvalidArgument, {"a.mp4"});
}

}  // namespace
}  // namespace pantograph
