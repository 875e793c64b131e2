// One clip and one VAE in every form that people have: the same bytes out, whatever came in.
#include "program.h"
#include "support/fixture.h"

namespace pantograph::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "diffusion_pytorch_model.safetensors";

class FormsTest : public CliTest {
 protected:
  // The tensor file that a decode of one clip writes.
  std::string decoded(const fs::path& latents, const fs::path& vae = golden("odd"),
                      const fs::path& input = "/dev/null") {
    const fs::path output = folder_ / "video.safetensors";
    const Result result = run(decode(latents, output, vae), input);
    EXPECT_EQ(result.exit_code, 0) << latents << " with " << vae << ": " << result.err;
    std::string bytes = read_file(output);
    fs::remove(output);
    return bytes;
  }
  fs::path converted(const std::string& name, const std::string& form) {
    const Result result = run({"convert", golden("odd"), folder_ / name, "--form", form});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return folder_ / name;
  }

  const fs::path clip_ = golden("odd/clips/t2_1x1.safetensors");
};

TEST_F(FormsTest, Weights) {
  const std::string expected = decoded(clip_);
  fs::create_directory(folder_ / "pipeline");
  fs::copy(golden("odd"), folder_ / "pipeline/vae");
  for (const fs::path& vae :
       {golden("odd/diffusion_pytorch_model.safetensors"), golden("odd_sharded"),
        fixture("odd_native.pth"), converted("n.safetensors", "native"),
        converted("s.safetensors", "safetensors"), converted("vae", "diffusers"),
        folder_ / "pipeline"}) {
    EXPECT_EQ(decoded(clip_, vae), expected) << vae;
  }
  EXPECT_EQ(decoded(clip_, fixture("odd_bf16.pt")), decoded(clip_, golden("odd_bf16")));
}

TEST_F(FormsTest, Latents) {
  const std::string expected = decoded(clip_);
  for (const char* name :
       {"clip.npy", "clip_v2.npy", "clip_v3.npy", "clip_fortran.npy", "clip.pt", "clip_dict.pt",
        "clip_view.pt", "comfyui.latent", "others_beside.safetensors"}) {
    const fs::path latents = fixture("latents") / name;
    EXPECT_EQ(decoded(latents), expected) << name;
    EXPECT_EQ(decoded("-", golden("odd"), latents), expected) << name << " on standard input";
  }
}

TEST_F(FormsTest, SeveralFilesInOneCall) {
  const std::string expected = decoded(clip_);
  fs::create_directory(folder_ / "in");
  fs::create_directory(folder_ / "more");
  fs::copy_file(fixture("latents/clip.npy"), folder_ / "in/a.npy");
  fs::copy_file(fixture("latents/clip.pt"), folder_ / "in/b.pt");
  write_file(folder_ / "in/readme.txt", "no latents");
  fs::copy_file(fixture("latents/comfyui.latent"), folder_ / "more/c.latent");
  fs::copy_file(fixture("latents/clip.pt"), folder_ / "more/c.pt");
  // A file, a folder, a pattern and standard input.
  const Result result = run({"decode", "--vae", golden("odd"), "--latents", clip_, folder_ / "in",
                             folder_ / "more/*.latent", "-", "--latent-scale", "raw", "-o",
                             folder_ / "{}.safetensors", "--device", "cpu"},
                            fixture("latents/clip_v2.npy"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 5) << result.out;
  for (const char* stem : {"t2_1x1", "a", "b", "c", "stdin"}) {
    const fs::path output = folder_ / (std::string(stem) + ".safetensors");
    EXPECT_EQ(read_file(output), expected) << stem;
    EXPECT_NE(result.out.find(output.string() + ": 5 frames of 16 x 16"), std::string::npos)
        << result.out;
  }
}

// The finished ones stay, the broken one leaves nothing, and those after it are not begun.
TEST_F(FormsTest, OneOfSeveralFails) {
  SafetensorsWriter writer(folder_ / "b.safetensors", {{"latents", DType::kF32, {48, 1, 1, 1}}});
  const std::vector<std::uint32_t> nan(48, 0x7fc00000);
  writer.append(nan.data(), nan.size() * sizeof(nan[0]));
  writer.finish();
  fs::copy_file(clip_, folder_ / "a.safetensors");
  fs::copy_file(clip_, folder_ / "c.safetensors");
  const Result result = run(decode(folder_ / "*.safetensors", folder_ / "out_{}", golden("odd")));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("b.safetensors: latent frame 0 of 1 holds NaN"), std::string::npos)
      << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "out_a"));
  EXPECT_FALSE(fs::exists(folder_ / "out_b"));
  EXPECT_FALSE(fs::exists(folder_ / "out_c"));
}

TEST_F(FormsTest, AContactSheetIsNeverAnInput) {
  fs::copy(golden("odd"), folder_ / "vae");
  write_file(folder_ / "vae/preview.png", "mine");
  expect_failure(run(decode(clip_, folder_ / "v.mp4", folder_ / "vae") +
                     Arguments{"--contact-sheet", folder_ / "vae/preview.png"}),
                 2, {"preview.png", "is an input"});
  EXPECT_EQ(read_file(folder_ / "vae/preview.png"), "mine");
}

TEST_F(FormsTest, WeightsAreNoLatentsAndNothingInAPickleIsRun) {
  const auto fails = [&](const fs::path& latents, const fs::path& vae,
                         const std::vector<std::string>& parts) {
    const Result result = run(decode(latents, folder_ / "v.mp4", vae));
    EXPECT_NE(result.exit_code, 0);
    for (const std::string& part : parts) {
      EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    }
    EXPECT_EQ(folder_.entries(), 0);
  };
  fails(fixture("odd_bf16.pt"), golden("odd"),
        {"odd_bf16.pt", "several tensors", " more); name one with --tensor"});
  fails(clip_, clip_, {"t2_1x1.safetensors", "so not the Wan2.2 VAE"});
  for (const char* name : {"harmful.pt", "legacy.pt", "deflated.pt", "bare_pickle.pt"}) {
    fails(fixture("torch") / name, golden("odd"), {name});
    fails(clip_, fixture("torch") / name, {name});
  }
  EXPECT_FALSE(fs::exists("pantograph-was-here"));
}

}  // namespace
}  // namespace pantograph::test
