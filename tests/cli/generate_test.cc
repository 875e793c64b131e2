// `pantograph generate` with a tiny checkpoint, against what transformers, diffusers and the DiT's
// transcription make of the same requests (tools/golden/generate_pan2_video.py).
#include <algorithm>
#include <cmath>

#include "checkpoint/json.h"
#include "core/convert.h"
#include "media/media_test.h"
#include "terminal.h"

namespace pantograph::test {
namespace {

constexpr double kTolerance = 1e-3;

// A small and short request; options that a test repeats are refused, so it says its own size.
Arguments generate(const Arguments& more,
                   const std::filesystem::path& model = golden("pan2_video")) {
  return Arguments{"generate", "--model", model.string(), "--threads", "1"} + more;
}

Arguments small(const std::filesystem::path& output, const Arguments& more) {
  return generate(Arguments{"--frames", "5", "--height", "32", "--width", "32", "-o", output}) +
         more;
}

std::vector<float> values_of(const std::filesystem::path& file, const std::string& tensor) {
  const SafetensorsFile opened = SafetensorsFile::open(file);
  const TensorView view = opened.view(tensor);
  std::vector<float> values(static_cast<std::size_t>(view.elements()));
  convert_to_f32(view.dtype, view.data, values.data(), view.elements());
  return values;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

// [3, F, plane] as [F, 3, plane], the order of a written video.
std::vector<float> frames_first(const std::vector<float>& video, std::size_t frames) {
  std::vector<float> result;
  const std::size_t plane = video.size() / 3 / frames;
  for (std::size_t f = 0; f < frames; ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto begin = video.begin() + static_cast<std::ptrdiff_t>((c * frames + f) * plane);
      result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(plane));
    }
  }
  return result;
}

// A failure does not print what would be pages of bytes.
void expect_same(const std::string& a, const std::string& b) {
  EXPECT_TRUE(a == b) << a.size() << " and " << b.size() << " bytes";
}
void expect_different(const std::string& a, const std::string& b) {
  EXPECT_TRUE(a != b) << a.size() << " bytes";
}

class GenerateTest : public CliTest {
 protected:
  // Runs it, and returns what it printed.
  Result succeed(const Arguments& arguments) {
    Result result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  // The video that a small request makes, as the bytes of its tensor file.
  std::string bytes_of(const Arguments& more) {
    succeed(small(folder_ / "bytes.safetensors", more));
    return read_file(folder_ / "bytes.safetensors");
  }
  void expect_golden(const std::string& name, const Arguments& request) {
    const auto video = folder_ / "video.safetensors", latents = folder_ / "latents.safetensors";
    const Result result =
        succeed(generate(request + Arguments{"--frames", "5", "--steps", "4", "-o", video,
                                             "--save-latents", latents}));
    EXPECT_EQ(result.err, "");
    const auto expected = golden("pan2_video/" + name + ".safetensors");
    EXPECT_LE(largest_difference(values_of(latents, "latents"), values_of(expected, "latents")),
              kTolerance);
    EXPECT_LE(largest_difference(values_of(video, "video"),
                                 frames_first(values_of(expected, "video"), 5)),
              kTolerance);
  }
};

TEST_F(GenerateTest, APromptBecomesTheVideoThatOthersMakeOfIt) {
  expect_golden("t2v",
                {"--prompt", "A red fox walks through fresh snow.", "--negative-prompt",
                 "blurred, \u00e9t\u00e9", "--height", "32", "--width", "64", "--seed", "7"});
}

TEST_F(GenerateTest, AnImageBecomesTheVideoThatOthersMakeOfIt) {
  expect_golden("i2v", {"--prompt", "The fox runs.", "--image", golden("first_frame/wide.png"),
                        "--guidance", "3.5", "--height", "64", "--width", "32", "--seed", "8"});
}

TEST_F(GenerateTest, SavedLatentsDecodeToTheSameBytes) {
  for (const std::string name : {"video.safetensors", "video.mp4"}) {
    const auto latents = folder_ / "latents.safetensors";
    succeed(small(folder_ / name, {"--prompt", "fox", "--steps", "2", "--save-latents", latents}));
    succeed({"decode", "--vae", golden("pan2_video"), "--latents", latents, "--latent-scale",
             "normalized", "--device", "cpu", "-o", folder_ / ("again_" + name)});
    expect_same(read_file(folder_ / name), read_file(folder_ / ("again_" + name)));
  }
}

TEST_F(GenerateTest, FourEvenStepsAreTheirSigmas) {
  const Arguments common = {"--prompt", "fox", "--guidance", "1"};
  const std::string even = bytes_of(common + Arguments{"--steps", "4"});
  expect_same(even, bytes_of(common + Arguments{"--sigmas", "1,0.75,0.5,0.25"}));
  expect_same(even, bytes_of(common + Arguments{"--sigmas", "1,0.75,0.5,0.25", "--shift", "9"}));
  expect_different(even, bytes_of(common + Arguments{"--steps", "4", "--shift", "1"}));
  expect_different(even, bytes_of(common + Arguments{"--steps", "4", "--sampler", "renoise"}));
}

TEST_F(GenerateTest, NoPromptIsASpace) {
  expect_same(bytes_of({"--prompt", "", "--steps", "1"}),
              bytes_of({"--prompt", " ", "--steps", "1"}));
}

TEST_F(GenerateTest, ANegativePromptComesFromAFile) {
  write_file(folder_ / "negative.txt", "blurred\n");
  const Arguments common = {"--prompt", "fox", "--steps", "1"};
  const std::string said = bytes_of(common + Arguments{"--negative-prompt", "blurred"});
  expect_same(said, bytes_of(common + Arguments{"--negative-prompt",
                                                "@" + (folder_ / "negative.txt").string()}));
  expect_different(said, bytes_of(common));
}

TEST_F(GenerateTest, UpToGuidance1ANegativePromptIsNotUsedAndThatIsSaid) {
  const Arguments common = {"--prompt", "fox", "--steps", "1", "--guidance", "1"};
  const Result result = succeed(
      small(folder_ / "with.safetensors", common + Arguments{"--negative-prompt", "blurred"}));
  EXPECT_NE(result.err.find("the negative prompt is not used: guidance is 1"), std::string::npos)
      << result.err;
  expect_same(read_file(folder_ / "with.safetensors"), bytes_of(common));
}

TEST_F(GenerateTest, WhatIsCutFromALongPromptIsSaidOnce) {
  std::string prompt;
  for (int i = 0; i < 1600; ++i) prompt += " x";
  const Result result = succeed(small(folder_ / "v.mp4", {"--prompt", prompt, "--steps", "1"}));
  // 1600 words and what ends the message and begins the answer.
  const std::string expected = "the prompt is too long: the first 1536 tokens are kept, the last ";
  const std::size_t found = result.err.find(expected);
  ASSERT_NE(found, std::string::npos) << result.err;
  EXPECT_GE(std::stoi(result.err.substr(found + expected.size())), 1600 - 1536);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(GenerateTest, HalfAnAdapterTwiceIsTheWhole) {
  const std::string file = golden("pan2_dit/tiny/lora.safetensors");
  const auto latents = [&](const Arguments& adapters) {
    const auto saved = folder_ / "latents.safetensors";
    succeed(
        small(folder_ / "v.safetensors",
              Arguments{"--prompt", "fox", "--steps", "1", "--save-latents", saved} + adapters));
    return values_of(saved, "latents");
  };
  const std::vector<float> whole = latents({"--lora", file});
  EXPECT_LE(largest_difference(whole, latents({"--lora", file + ":0.5", "--lora", file + ":0.5"})),
            kTolerance);
  EXPECT_GT(largest_difference(whole, latents({})), 100 * kTolerance);
}

TEST_F(GenerateTest, EachLineOfAPromptsFileIsAVideoOfItsOwn) {
  write_file(folder_ / "prompts.txt",
             "fox\n\n"
             "{\"prompt\": \"wolf\", \"seed\": 3, \"width\": 64, \"output\": \"" +
                 (folder_ / "wolf.safetensors").string() + "\"}\r\n");
  const Result result =
      succeed(generate({"--prompts", folder_ / "prompts.txt", "-o", folder_ / "{}.safetensors",
                        "--frames", "5", "--height", "32", "--width", "32", "--steps", "1",
                        "--save-latents", folder_ / "z{}.safetensors"}));
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_EQ(result.out.find((folder_ / "0001.safetensors").string() + ": 5 frames of 32 x 32"), 0U)
      << result.out;
  EXPECT_NE(
      result.out.find((folder_ / "wolf.safetensors").string() + ": 5 frames of 64 x 32, seed 3;"),
      std::string::npos)
      << result.out;
  EXPECT_EQ(folder_.entries(), 5);  // the prompts, two videos, z0001 and z0003
  expect_same(read_file(folder_ / "0001.safetensors"),
              bytes_of({"--prompt", "fox", "--steps", "1"}));
  succeed(generate({"--prompt", "wolf", "--seed", "3", "--frames", "5", "--height", "32", "--width",
                    "64", "--steps", "1", "-o", folder_ / "alone.safetensors"}));
  expect_same(read_file(folder_ / "wolf.safetensors"), read_file(folder_ / "alone.safetensors"));
}

TEST_F(GenerateTest, JsonIsOneObjectWithEveryField) {
  const Result result =
      succeed(small(folder_ / "v.mp4", {"--prompt", "fox", "--steps", "2", "--shift", "1", "--seed",
                                        "5", "--contact-sheet", folder_ / "sheet.png", "--json"}));
  EXPECT_EQ(decode_rgb24(folder_ / "v.mp4").size(), 5U * 32 * 32 * 3);
  EXPECT_EQ(decode_rgb24(folder_ / "sheet.png").size(), 3U * 32 * 2 * 32 * 3);
  const Json summary = parse_json(result.out, "standard output");
  EXPECT_EQ(*summary.find("device")->string(), "cpu");
  double number = 0;
  for (const char* key : {"open_seconds", "total_seconds", "peak_memory_bytes"}) {
    ASSERT_NE(summary.find(key), nullptr) << key;
    EXPECT_TRUE(summary.find(key)->number(number)) << key;
    EXPECT_GT(number, 0) << key;
  }
  ASSERT_EQ(summary.find("videos")->array()->size(), 1U);
  const Json& video = summary.find("videos")->array()->front();
  EXPECT_EQ(*video.find("output")->string(), (folder_ / "v.mp4").string());
  EXPECT_EQ(*video.find("preset")->string(), "pan2_t2v");
  EXPECT_EQ(*video.find("prompt")->string(), "fox");
  EXPECT_EQ(*video.find("negative_prompt")->string(), "");
  EXPECT_EQ(*video.find("image")->string(), "");
  EXPECT_EQ(*video.find("prompt_tokens_cut")->integer(), 0);
  EXPECT_EQ(*video.find("frames")->integer(), 5);
  EXPECT_EQ(*video.find("height")->integer(), 32);
  EXPECT_EQ(*video.find("width")->integer(), 32);
  EXPECT_EQ(*video.find("seed")->integer(), 5);
  EXPECT_EQ(video.find("sigmas")->dump(), "[1.0,0.5,0.0]");
  for (const char* key : {"prompt_tokens", "guidance", "encode_text_seconds", "condition_seconds",
                          "denoise_seconds", "decode_seconds", "write_seconds"}) {
    ASSERT_NE(video.find(key), nullptr) << key;
    EXPECT_TRUE(video.find(key)->number(number)) << key;
    EXPECT_GE(number, 0) << key;
  }
}

TEST_F(GenerateTest, ADryRunSaysWhatWouldBeMadeAndMakesNothing) {
  const Result result =
      succeed(generate({"--prompt", "fox", "-o", folder_ / "v.mp4", "--dry-run"}));
  EXPECT_EQ(result.out.find((folder_ / "v.mp4").string() +
                            ": 313 frames of 1248 x 704, 67782 video tokens, 50 steps with "
                            "guidance 2.5, "),
            0U)
      << result.out;
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(GenerateTest, NamesTheStagesOfAGeneration) {
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

}  // namespace
}  // namespace pantograph::test
