#include "pipeline/generate_request.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::TempDir;
using test::write_file;

// The release's: 13 s of 704 x 1248 at 24 frames a second, 50 steps, guidance 2.5.
void expect_defaults(const GenerateRequest& request) {
  EXPECT_EQ(request.frames, 313);
  EXPECT_EQ(request.height, 704);
  EXPECT_EQ(request.width, 1248);
  EXPECT_EQ(request.video.frames_per_second, 24);
  EXPECT_EQ(request.schedule.steps, 50);
  EXPECT_TRUE(request.schedule.sigmas.empty());
  EXPECT_FALSE(request.schedule.shift);  // the checkpoint's scheduler knows
  EXPECT_FALSE(request.sampler);
  EXPECT_EQ(request.guidance, 2.5);
  EXPECT_EQ(request.seed, 0);
  EXPECT_EQ(request.negative_prompt, "");
}

TEST(GenerateRequest, AnImageMakesItImageToVideo) {
  const GenerateRequest text = make_request({.prompt = "fox"});
  EXPECT_EQ(text.preset, "pan2_t2v");
  EXPECT_FALSE(text.has_first_frame());
  expect_defaults(text);
  const GenerateRequest image = make_request({.prompt = "fox", .image = "fox.png"});
  EXPECT_EQ(image.preset, "pan2_i2v");
  EXPECT_TRUE(image.has_first_frame());
  expect_defaults(image);
}

TEST(GenerateRequest, WhatIsSaidWinsOverThePreset) {
  const GenerateRequest request = make_request({.frames = 5,
                                                .height = 64,
                                                .width = 96,
                                                .steps = 4,
                                                .frames_per_second = 12,
                                                .shift = 5.0,
                                                .guidance = 1.0,
                                                .seed = 9,
                                                .sampler = Sampler::kRenoise});
  EXPECT_EQ(request.frames, 5);
  EXPECT_EQ(request.height, 64);
  EXPECT_EQ(request.width, 96);
  EXPECT_EQ(request.schedule.steps, 4);
  EXPECT_EQ(request.video.frames_per_second, 12);
  EXPECT_EQ(request.schedule.shift, 5.0);
  EXPECT_EQ(request.guidance, 1.0);
  EXPECT_EQ(request.seed, 9);
  EXPECT_EQ(request.sampler, Sampler::kRenoise);
}

TEST(GenerateRequest, ANegativePromptIsReadFromAFileWithoutTheLastLineBreak) {
  const TempDir folder;
  const auto file = write_file(folder / "negative.json", "{\"blur\":\n 1}\r\n");
  EXPECT_EQ(make_request({.negative_prompt = "@" + file.string()}).negative_prompt,
            "{\"blur\":\n 1}");
  EXPECT_EQ(make_request({.negative_prompt = "a@b"}).negative_prompt, "a@b");
  test::expect_error(ErrorKind::kNotFound, {"none.txt"}, [&] {
    make_request({.negative_prompt = "@" + (folder / "none.txt").string()});
  });
}

}  // namespace
}  // namespace pantograph
