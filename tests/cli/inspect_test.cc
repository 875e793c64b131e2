// The verbs that tell something: --help, --version, info, inspect.
#include "pantograph/version.h"
#include "program.h"

namespace pantograph::test {
namespace {

class InspectTest : public CliTest {
 protected:
  static std::string output_of(const Arguments& arguments) {
    const Result result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
};

void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
  }
}

TEST_F(InspectTest, EveryVerbHasAnExample) {
  const std::vector<Arguments> verbs = {
      {},       {"decode"},      {"inspect"},      {"info"},
      {"make"}, {"make", "vae"}, {"make", "pan2"}, {"make", "latents"}};
  for (const Arguments& verb : verbs) {
    std::string example = "pantograph";
    for (const std::string& word : verb) example += " " + word;
    const std::string help = output_of(verb + Arguments{"--help"});
    const std::size_t examples = help.find("Example");
    ASSERT_NE(examples, std::string::npos) << help;
    EXPECT_NE(help.find("\n  " + example, examples), std::string::npos) << help;
  }
  expect_says(output_of({"decode", "--help"}),
              {"--vae", "--latents", "--tensor", "--latent-scale normalized|raw", "--output",
               "--algorithm auto|fast|general", "--fps", "--crf", "--device", "--frames-per-pass",
               "--threads", "--json"});
}

TEST_F(InspectTest, TheVersionIsTheLibrarys) {
  EXPECT_EQ(output_of({"--version"}), std::string("pantograph ") + kVersion + "\n");
  expect_says(output_of({"info"}), {std::string("pantograph ") + kVersion + "\n", "backends:",
                                    "oneDNN", "devices:", "cpu: ", "codecs:", "h264 (lib"});
}

TEST_F(InspectTest, ACheckpoint) {
  expect_says(output_of({"inspect", golden("odd_sharded")}),
              {"a Wan2.2 VAE checkpoint", "-00004-of-00004.safetensors", "\"z_dim\":48",
               "tensors: ", "decoder.conv_in.weight", "problems: none"});
}

TEST_F(InspectTest, ACheckpointWithProblems) {
  const auto vae = folder_ / "vae";
  std::filesystem::copy(golden("odd"), vae);
  std::string config = read_file(vae / "config.json");
  const std::string key = "\"decoder_base_dim\": 3";
  ASSERT_NE(config.find(key), std::string::npos);
  config.replace(config.find(key), key.size(), "\"decoder_base_dim\": 4");
  std::filesystem::remove(vae / "config.json");
  write_file(vae / "config.json", config);
  const std::string text = output_of({"inspect", vae});
  expect_says(text, {"problems: \n", "decoder.conv_in.weight"});
}

TEST_F(InspectTest, Latents) {
  // One channel of 2 and 4 (mean 3, deviation 1), the others zero.
  const auto path = folder_ / "latents.safetensors";
  {
    SafetensorsWriter writer(path, {{"latents", DType::kF32, {48, 2, 1, 1}}});
    std::vector<float> values(96, 0);
    values[2] = 2;
    values[3] = 4;
    writer.append(values.data(), 96 * sizeof(float));
    writer.finish();
  }
  expect_says(
      output_of({"inspect", path}),
      {"a safetensors file of 1 tensors", "f32   [48, 2, 1, 1]", "5 frames of 16 x 16 when decoded",
       "scale: ", "        1    3.0000    1.0000\n", "        2    0.0000    0.0000\n"});
}

TEST_F(InspectTest, LatentsSuggestTheirScale) {
  const auto made = folder_ / "latents.safetensors";
  output_of({"make", "latents", "--shape", "9,8,8", made});
  expect_says(output_of({"inspect", made}), {"--latent-scale normalized"});
}

TEST_F(InspectTest, Garbage) {
  const auto path = write_file(folder_ / "garbage", "no safetensors file at all");
  expect_failure(run({"inspect", path}), 1, {path.string(), "no safetensors file"});
  expect_failure(run({"inspect", folder_ / "none"}), 1,
                 {(folder_ / "none").string(), "no such file"});
  expect_failure(run({"inspect", folder_.path()}), 1, {folder_.path().string(), "config.json"});
}

}  // namespace
}  // namespace pantograph::test
