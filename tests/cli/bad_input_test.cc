// What a user is told when something is wrong: one line, an exit code, and no file.
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "checkpoint/json.h"
#include "media/media_test.h"
#include "program.h"
#include "support/as_ordinary_user.h"

namespace pantograph::test {
namespace {

constexpr const char* kWeights = "diffusion_pytorch_model.safetensors";

class BadInputTest : public CliTest {
 protected:
  std::filesystem::path latents_of(const std::vector<std::int64_t>& shape, float value = 0.5F) {
    SafetensorsWriter writer(folder_ / "made.safetensors", {{"latents", DType::kF32, shape}});
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const std::vector<float> values(static_cast<std::size_t>(count), value);
    writer.append(values.data(), values.size() * sizeof(float));
    writer.finish();
    return folder_ / "made.safetensors";
  }

  const std::filesystem::path clip_ = golden_clip("t1_1x1");
  const std::filesystem::path output_ = folder_ / "video.mp4";
};

TEST_F(BadInputTest, FilesThatAreNotThere) {
  expect_refused(decode(folder_ / "none.safetensors", output_), kFailed,
                 {(folder_ / "none.safetensors").string(), "no such file"});
  expect_refused(decode(clip_, output_, folder_ / "none"), kFailed,
                 {(folder_ / "none").string(), "config.json"});
  expect_refused(decode(clip_, folder_ / "none/video.mp4"), kFailed,
                 {(folder_ / "none").string(), "create it first"});
}

TEST_F(BadInputTest, FilesThatAreBroken) {
  const std::string whole = read_file(clip_);
  const auto broken = folder_ / "broken.safetensors";
  const auto expect_broken = [&](const std::string& bytes, const std::string& part) {
    write_file(broken, bytes);
    expect_refused(decode(broken, output_), kFailed, {broken.string(), part});
  };
  expect_broken("", "");
  expect_broken(whole.substr(0, 5), "");
  expect_broken(whole.substr(0, 60), "");
  expect_broken(whole.substr(0, whole.size() - 1), "");
  expect_broken(whole + "x", "");
  expect_broken("GIF89a, and no safetensors at all", "no safetensors file");
}

TEST_F(BadInputTest, NoLatentScaleExplainsBothMeanings) {
  expect_refused({"decode", "--vae", golden("tiny"), "--latents", clip_, "-o", output_}, kUsage,
                 {"--latent-scale is needed", "'normalized' for what a sampler works on",
                  "'raw' for what the VAE itself takes"});
}

TEST_F(BadInputTest, CommandsThatSayNothingSensible) {
  expect_refused(
      {}, kUsage,
      {"a verb is needed after pantograph", "decode|encode|generate|inspect|convert|make|"});
  expect_refused({"decoed"}, kUsage, {"'decoed' is no verb"});
  expect_refused({"--frob"}, kUsage, {"a verb is needed"});
  expect_refused({"decode"}, kUsage, {"--vae is required"});
  expect_refused({"make"}, kUsage, {"after make", "vae|pan2|latents"});
  expect_refused({"make", "video"}, kUsage, {"after make", "vae|pan2|latents"});
  expect_refused({"inspect"}, kUsage, {"path is required"});
  const Arguments good = decode(clip_, output_);
  expect_refused(good + Arguments{"--frob"}, kUsage, {"--frob"});
  expect_refused(good + Arguments{"extra"}, kUsage, {"extra"});
  expect_refused(good + Arguments{"--tensor"}, kUsage, {"--tensor"});
  expect_refused(good + Arguments{"--device", "cpu"}, kUsage, {"--device"});
  expect_refused(good + Arguments{"--algorithm", "fastest"}, kUsage,
                 {"--algorithm", "'fastest'", "auto|fast|general"});
  expect_refused({"decode", "--vae", golden("tiny"), "--latents", clip_, "--latent-scale", "raw",
                  "-o", output_, "--device", "cpuu"},
                 kUsage, {"'cpuu' is no device", "cpu"});
  expect_refused({"decode", "--latent-scale", "row"}, kUsage, {"'row'", "normalized|raw"});
}

TEST_F(BadInputTest, BadNumbers) {
  const Arguments good = decode(clip_, output_);
  for (const char* option : {"--fps", "--crf", "--frames-per-pass", "--threads"}) {
    for (const char* value : {"x", "-1", "1.5", "99999999999999999999", ""}) {
      expect_refused(good + Arguments{option, value}, kUsage, {option + 2});
    }
  }
  for (const char* option : {"--fps", "--frames-per-pass", "--threads"}) {
    expect_refused(good + Arguments{option, "0"}, kUsage, {option + 2});
  }
  expect_refused(good + Arguments{"--crf", "52"}, kUsage, {"crf 52", "0", "51"});
  expect_refused(good + Arguments{"--threads", "0"}, kUsage, {"--threads: '0'", "at least 1"});
  const auto latents = [&](const char* shape) {
    return Arguments{"make", "latents", "--shape", shape, folder_ / "l.safetensors"};
  };
  expect_refused(latents("1,2"), kUsage, {"--shape"});
  expect_refused(latents("1,2,x"), kUsage, {"--shape"});
  expect_refused(latents("0,2,3"), kUsage, {"0 frames of 2 x 3"});
  expect_refused(latents("1,-2,3"), kUsage, {"1 frames of -2 x 3"});
  expect_refused(latents("999999999999,999999999999,9"), kUsage, {"2^63 bytes"});
  expect_refused({"make", "vae", "--tiny", "--seed", "-1", folder_ / "v"}, kUsage,
                 {"--seed", "-1"});
}

TEST_F(BadInputTest, CheckpointsAreMadeOnlyWhereNothingIs) {
  test::write_file(folder_ / "mine.txt", "mine");
  expect_refused({"make", "vae", "--tiny", folder_.path()}, kUsage,
                 {folder_.path(), "holds something already"});
  EXPECT_EQ(test::read_file(folder_ / "mine.txt"), "mine");
}

// Asked for, it is that or nothing; a build without GPU code says so.
TEST_F(BadInputTest, AFastAlgorithmWhereThereIsNone) {
  expect_refused(decode(clip_, output_) + Arguments{"--algorithm", "fast"}, kFailed,
                 {"no fast convolution", "in f32 on the CPU", "GPU", "auto or general"});
}

TEST_F(BadInputTest, OutputsThatCannotBe) {
  expect_refused(decode(clip_, folder_ / "video.avi"), kUsage,
                 {"video.avi", "NAME.mp4", "NAME.safetensors", "folder of PNG"});
  expect_refused(decode(clip_, "/dev/full"), kUsage, {"/dev/full", "device"});
  const Result both = run(decode(clip_, "-") + Arguments{"--json"});
  EXPECT_EQ(both.exit_code, kUsage);
  EXPECT_NE(both.err.find("both want standard output"), std::string::npos) << both.err;
}

TEST_F(BadInputTest, EncodersThatCannotBe) {
  const Arguments good = decode(clip_, output_);
  expect_refused(good + Arguments{"--codec", "av1"}, kUsage, {"'av1'", "ffv1|h264|hevc|prores"});
  expect_refused(good + Arguments{"--codec", "ffv1"}, kUsage, {"ffv1 does not go into a .mp4"});
  expect_refused(good + Arguments{"--pix-fmt", "rgb24"}, kUsage, {"'rgb24'", "yuv420p10"});
  expect_refused(good + Arguments{"--preset", "quick"}, kUsage, {"'quick' is no preset"});
  expect_refused(good + Arguments{"--contact-sheet", "sheet.jpg"}, kUsage, {"sheet.jpg", "PNG"});
}

TEST_F(BadInputTest, AnOutputThatIsAnInput) {
  const auto copy = folder_ / "latents.safetensors";
  std::filesystem::copy_file(clip_, copy);
  expect_refused(decode(copy, folder_ / "./latents.safetensors"), kUsage, {"is an input"});
  EXPECT_EQ(read_file(copy), read_file(clip_));
}

TEST_F(BadInputTest, WrongChannelsAreNamed) {
  expect_refused(decode(latents_of({16, 1, 1, 1}), output_), kUsage,
                 {"16 channels", "Wan2.1", "48"});
  expect_refused(decode(latents_of({3, 1, 1, 1}), output_), kUsage, {"3 channels", "48"});
  expect_refused(decode(latents_of({48, 0, 1, 1}), output_), kUsage, {"empty"});
  expect_refused(decode(latents_of({48, 2, 2}), output_), kFailed, {"[48, 2, 2]", "[C, T, h, w]"});
}

TEST_F(BadInputTest, TensorsThatAreNotThereOrNotClear) {
  const auto two = folder_ / "two.safetensors";
  {
    SafetensorsWriter writer(two,
                             {{"a", DType::kF16, {1, 1, 1, 1}}, {"b", DType::kF16, {1, 1, 1, 1}}});
    writer.append("1234", 4);
    writer.finish();
  }
  expect_refused(decode(two, output_), kUsage, {"several", "a f16 [1, 1, 1, 1]", "--tensor"});
  expect_refused(decode(two, output_) + Arguments{"--tensor", "c"}, kFailed,
                 {"\"c\"", "it holds a "});
}

TEST_F(BadInputTest, TheFrameWithNanIsNamed) {
  SafetensorsWriter writer(folder_ / "nan.safetensors", {{"latents", DType::kF32, {48, 3, 1, 2}}});
  std::vector<float> values(48 * 3 * 2, 0.5F);
  values[7 * 3 * 2 + 2 * 2 + 1] = std::numeric_limits<float>::quiet_NaN();  // channel 7, frame 2
  writer.append(values.data(), values.size() * sizeof(float));
  writer.finish();
  expect_refused(decode(folder_ / "nan.safetensors", output_), kUsage,
                 {"latent frame 2 of 3", "NaN"});
}

TEST_F(BadInputTest, EveryWeightThatIsMissingIsListed) {
  const auto vae = folder_ / "vae";
  std::filesystem::copy(golden("tiny"), vae);
  const auto weights = vae / kWeights;
  std::string bytes = read_file(weights);
  for (const std::string name : {"post_quant_conv.bias", "decoder.conv_in.weight"}) {
    bytes.replace(bytes.find("\"" + name + "\"") + 1, name.size(), std::string(name.size(), 'x'));
  }
  std::filesystem::remove(weights);
  write_file(weights, bytes);
  expect_refused(decode(clip_, output_, vae), kFailed,
                 {"post_quant_conv.bias", "decoder.conv_in.weight", std::string(20, 'x')});
}

TEST_F(BadInputTest, TheVaeOfWan21IsNamed) {
  const auto vae = folder_ / "vae";
  std::filesystem::create_directory(vae);
  std::filesystem::copy(golden("tiny") / kWeights, vae);
  write_file(vae / "config.json",
             R"({"_class_name": "AutoencoderKLWan", "base_dim": 96, "z_dim": 16,
    "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_scales": [], "dropout": 0.0,
    "temperal_downsample": [false, true, true],
    "latents_mean": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "latents_std": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]})");
  expect_refused(decode(clip_, output_, vae), kFailed, {"Wan2.1 VAE", "16 latent channels"});
}

TEST_F(BadInputTest, FoldersWithoutPermission) {
  using std::filesystem::perms;
  const auto open = folder_ / "open", closed = folder_ / "closed";
  for (const auto& part : {open, closed}) {
    std::filesystem::create_directory(part);
    std::filesystem::copy(golden("tiny"), part / "vae");
    std::filesystem::copy_file(clip_, part / "clip.safetensors");
  }
  std::filesystem::permissions(folder_.path(), perms(0755));
  std::filesystem::permissions(open, perms(0777));
  std::filesystem::permissions(closed, perms(0000));
  {
    const AsOrdinaryUser user;
    const auto clip = open / "clip.safetensors";
    const std::string denied = "Permission denied";
    expect_failure(run(decode(closed / "clip.safetensors", open / "v.mp4", open / "vae")), kFailed,
                   {(closed / "clip.safetensors").string(), denied});
    expect_failure(run(decode(clip, open / "v.mp4", closed / "vae")), kFailed,
                   {(closed / "vae").string(), denied});
    expect_failure(run(decode(clip, closed / "v.mp4", open / "vae")), kFailed,
                   {(closed / "v.mp4").string(), denied});
    expect_failure(run({"inspect", closed}), kFailed, {closed.string(), denied});
  }
  std::filesystem::permissions(closed, perms(0700));
}

TEST_F(BadInputTest, AFullDiskLeavesNothing) {
  const auto clip = golden_clip("t5_1x1");
  for (const char* name : {"video.mp4", "video.safetensors", "frames"}) {
    const std::ptrdiff_t before = folder_.entries();
    Result result;
    {
      const FileSizeLimit limit(700);  // bytes: more than the message, less than a frame
      result = run(decode(clip, folder_ / name));
    }
    expect_failure(result, kFailed, {(folder_ / name).string(), "File too large"});
    EXPECT_EQ(folder_.entries(), before);
  }
}

TEST_F(BadInputTest, ADiskThatFillsUpInTheMiddleLeavesNothing) {
  const auto clip = golden_clip("t5_1x1");  // 17 frames of 16 x 16: 52 kB of f32
  const std::map<std::string, Arguments> outputs = {{"video.safetensors", {}},
                                                    {"video.mkv", {"--codec", "ffv1"}}};
  for (const auto& [name, more] : outputs) {
    Result result;
    {
      const FileSizeLimit limit(8'000);
      result = run(decode(clip, folder_ / name) + more);
    }
    expect_failure(result, kFailed, {(folder_ / name).string(), "File too large"});
    EXPECT_EQ(folder_.entries(), 0);
  }
}

TEST_F(BadInputTest, AFailureLeavesTheOldFile) {
  for (const char* name : {"video.mp4", "video.safetensors"}) {
    write_file(folder_ / name, "what was there before");
    {
      const FileSizeLimit limit(700);
      EXPECT_EQ(run(decode(clip_, folder_ / name)).exit_code, kFailed);
    }
    EXPECT_EQ(read_file(folder_ / name), "what was there before");
  }
  EXPECT_EQ(folder_.entries(), 2);
}

TEST_F(BadInputTest, APipeThatNobodyReadsIsAFailure) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const pid_t process = ::fork();
  if (process == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    execute(decode(clip_, "-"));
  }
  ::close(ends[1]);
  EXPECT_EQ(exit_code_of(process), kFailed);
}

TEST_F(BadInputTest, JsonReportsFailuresToo) {
  const auto error_of = [](const Arguments& arguments) {
    const Result result = run(arguments + Arguments{"--json"});
    EXPECT_NE(result.exit_code, 0);
    const Json document = parse_json(result.out, "standard output");
    const Json* error = document.find("error");
    EXPECT_NE(error, nullptr) << result.out;
    EXPECT_FALSE(error->find("message")->string()->empty());
    return *error->find("kind")->string();
  };
  EXPECT_EQ(error_of(decode(folder_ / "none", output_)), "not_found");
  EXPECT_EQ(error_of(decode(clip_, folder_ / "video.avi")), "invalid_argument");
  EXPECT_EQ(error_of(decode(clip_, output_) + Arguments{"--fps", "x"}), "invalid_argument");
  EXPECT_EQ(error_of(decode(clip_, output_) + Arguments{"--frob"}), "invalid_argument");
  EXPECT_EQ(error_of(decode(folder_ / "caf\xe9", output_)), "not_found");  // no UTF-8
}

}  // namespace
}  // namespace pantograph::test
