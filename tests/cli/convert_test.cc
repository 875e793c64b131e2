// `pantograph convert`: every form and dtype, and what is refused.
#include "checkpoint/checkpoint.h"
#include "media/media_test.h"
#include "program.h"
#include "support/as_ordinary_user.h"
#include "support/fixture.h"

namespace pantograph::test {
namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

class ConvertTest : public CliTest {
 protected:
  static Result convert(const fs::path& input, const fs::path& output, const std::string& form,
                        const Arguments& more = {}) {
    return run(Arguments{"convert", input, output, "--form", form} + more);
  }
  void expect_refused(const Result& result, int exit_code, const std::vector<std::string>& parts,
                      std::ptrdiff_t entries) {
    expect_failure(result, exit_code, parts);
    EXPECT_EQ(folder_.entries(), entries);
  }
};

// From each form to each, in each dtype: what torch rounded the same weights to.
TEST_F(ConvertTest, EveryFormAndDType) {
  const std::map<std::string, std::string> forms = {
      {"diffusers", "vae"}, {"safetensors", "s.safetensors"}, {"native", "n.safetensors"}};
  for (const auto& [form, name] : forms) {
    const Result result = convert(golden("odd"), folder_ / name, form);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find((folder_ / name).string() + ": 148 tensors, 0.5 MiB, each read back"),
              0U)
        << result.out;
    EXPECT_EQ(result.err, "");
  }
  for (const auto& [from, input] : forms) {
    for (const auto& [to, extension] : forms) {
      for (const auto& [dtype, expected] :
           {std::pair{"f32", "odd"}, std::pair{"bf16", "odd_bf16"}, std::pair{"f16", "odd_f16"}}) {
        const fs::path output = folder_ / ("out_" + extension);
        const Result result = convert(folder_ / input, output, to, {"--dtype", dtype});
        ASSERT_EQ(result.exit_code, 0) << from << " to " << to << ": " << result.err;
        const Result back = convert(output, folder_ / "back", "diffusers");
        ASSERT_EQ(back.exit_code, 0) << back.err;
        const Checkpoint arrived = open_checkpoint(folder_ / "back");
        for (const auto& [tensor, golden_tensor] : open_checkpoint(golden(expected)).tensors) {
          const TensorView& view = arrived.tensors.at(tensor).view;
          ASSERT_EQ(view.bytes(), golden_tensor.view.bytes()) << tensor;
          EXPECT_EQ(std::memcmp(view.data, golden_tensor.view.data, view.bytes()), 0)
              << tensor << " from " << from << " to " << to << " in " << dtype;
        }
        fs::remove_all(output);
        fs::remove_all(folder_ / "back");
      }
    }
  }
}

TEST_F(ConvertTest, TorchFiles) {
  const Result result =
      convert(fixture("odd_bf16.pt"), folder_ / "n.safetensors", "native", {"--dtype", "f32"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto decoded = [&](const fs::path& vae) {
    EXPECT_EQ(
        run(decode(golden("odd_bf16/clips/t2_1x2.safetensors"), folder_ / "v.safetensors", vae))
            .exit_code,
        0);
    return read_file(folder_ / "v.safetensors");
  };
  EXPECT_EQ(decoded(folder_ / "n.safetensors"), decoded(golden("odd_bf16")));
}

TEST_F(ConvertTest, WhatIsRefusedIsSaidAndNothingIsLeft) {
  const fs::path output = folder_ / "x.safetensors";
  expect_refused(run({"convert", golden("odd"), output}), kUsage, {"--form is required"}, 0);
  expect_refused(convert(golden("odd"), output, "gguf"), kUsage,
                 {"'gguf'", "diffusers|native|safetensors"}, 0);
  expect_refused(convert(golden("odd"), output, "native", {"--dtype", "fp8"}), kUsage,
                 {"'fp8'", "bf16|f16|f32"}, 0);
  expect_refused(convert(folder_ / "none", output, "native"), kFailed, {"none"}, 0);
  expect_refused(convert(fixture("torch/harmful.pt"), output, "native"), kFailed,
                 {"harmful.pt", "posix.system"}, 0);
  expect_refused(convert(golden("odd/clips/t2_1x1.safetensors"), output, "native"), kFailed,
                 {"t2_1x1.safetensors", "so not the Wan2.2 VAE"}, 0);
  expect_refused(convert(golden("odd"), folder_ / "no/x.safetensors", "native"), kFailed,
                 {(folder_ / "no").string()}, 0);
  expect_refused(convert(golden("odd"), folder_.path(), "native"), kUsage, {"is a folder"}, 0);
}

TEST_F(ConvertTest, TheInputIsNeverOverwritten) {
  fs::copy(golden("odd_bf16"), folder_ / "vae");
  const fs::path weights = folder_ / "vae/diffusion_pytorch_model.safetensors";
  fs::create_symlink(weights, folder_ / "link.safetensors");
  const std::string before = read_file(weights);
  expect_refused(convert(folder_ / "vae", folder_ / "vae", "diffusers"), kUsage, {"is an input"},
                 2);
  expect_refused(convert(folder_ / "vae", weights, "native"), kUsage, {"is an input"}, 2);
  expect_refused(convert(folder_ / "vae", folder_ / "link.safetensors", "native"), kUsage,
                 {"is an input"}, 2);
  EXPECT_EQ(read_file(weights), before);
}

TEST_F(ConvertTest, AFullDiskLeavesTheOldFile) {
  write_file(folder_ / "x.safetensors", "what was there before");
  for (const auto& [form, name] : {std::pair{"native", "x.safetensors"}, {"diffusers", "vae"}}) {
    const FileSizeLimit limit(200'000);  // bytes: in the middle of the tensors
    expect_refused(convert(golden("odd"), folder_ / name, form), kFailed,
                   {(folder_ / name).filename(), "File too large"}, 1);
  }
  EXPECT_EQ(read_file(folder_ / "x.safetensors"), "what was there before");
}

TEST_F(ConvertTest, AFolderThatIsReadOnly) {
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::create_directory(folder_ / "closed");
  make_read_only(folder_ / "closed");
  fs::copy(golden("odd"), folder_ / "vae");
  {
    const AsOrdinaryUser user;
    expect_failure(convert(folder_ / "vae", folder_ / "closed/x.safetensors", "native"), kFailed,
                   {(folder_ / "closed").string(), "Permission denied"});
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "closed"));
}

}  // namespace
}  // namespace pantograph::test
