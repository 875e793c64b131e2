#include "pipeline/convert_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::fixture;
using test::golden;
using test::read_file;
using test::TempDir;

void expect_same_tensors(const Checkpoint& a, const Checkpoint& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) {
    ASSERT_TRUE(b.tensors.contains(name)) << name;
    const TensorView& other = b.tensors.at(name).view;
    ASSERT_EQ(tensor.view.bytes(), other.bytes()) << name;
    EXPECT_EQ(std::memcmp(tensor.view.data, other.data, other.bytes()), 0) << name;
  }
}

// Through every form and back: the config and every byte, the encoder's too.
TEST(Convert, EveryFormAndBack) {
  const TempDir dir;
  const ConvertSummary native = run_convert(
      {.input = golden("odd"), .output = dir / "n.safetensors", .form = CheckpointForm::kNative});
  EXPECT_EQ(native.tensors, 148);
  run_convert({.input = dir / "n.safetensors",
               .output = dir / "s.safetensors",
               .form = CheckpointForm::kSafetensors});
  run_convert({.input = dir / "s.safetensors", .output = dir / "vae"});
  EXPECT_EQ(dir.entries(), 3);
  const Checkpoint original = open_checkpoint(golden("odd"));
  const Checkpoint back = open_checkpoint(dir / "vae");
  EXPECT_EQ(back.config.dump(), original.config.dump());
  expect_same_tensors(original, back);
}

// The names are those that torch stored, from a generator of its own.
TEST(Convert, NativeNames) {
  const TempDir dir;
  run_convert({.input = golden("odd_sharded"),
               .output = dir / "n.safetensors",
               .form = CheckpointForm::kNative});
  expect_same_tensors(open_checkpoint(fixture("odd_native.pth")),
                      open_checkpoint(dir / "n.safetensors"));
}

// The generator of the golden checkpoints rounded the same weights with torch.
TEST(Convert, DTypes) {
  const TempDir dir;
  for (const auto& [dtype, name] :
       {std::pair{DType::kBF16, "odd_bf16"}, std::pair{DType::kF16, "odd_f16"}}) {
    run_convert({.input = golden("odd_sharded"), .output = dir / name, .dtype = dtype});
    expect_same_tensors(open_checkpoint(golden(name)), open_checkpoint(dir / name));
  }
}

TEST(Convert, ValuesThatF16CannotHold) {
  const TempDir dir;
  fs::copy(golden("odd_bf16"), dir / "vae");
  const fs::path weights = dir / "vae/diffusion_pytorch_model.safetensors";
  std::string bytes = read_file(weights);
  bytes[bytes.size() - 1] = '\x7f';  // the last value becomes about 1e38
  bytes[bytes.size() - 2] = '\x00';
  test::write_file(weights, bytes);
  expect_error(ErrorKind::kInvalidArgument, {"too large for f16"}, [&] {
    run_convert({.input = dir / "vae", .output = dir / "f16", .dtype = DType::kF16});
  });
  EXPECT_FALSE(fs::exists(dir / "f16"));
  EXPECT_EQ(dir.entries(), 1);
}

TEST(Convert, TheInputIsNeverTheOutput) {
  const TempDir dir;
  fs::copy(golden("odd_bf16"), dir / "vae");
  const fs::path weights = dir / "vae/diffusion_pytorch_model.safetensors";
  fs::create_hard_link(weights, dir / "hard.safetensors");
  for (const fs::path& output : {weights, dir / "hard.safetensors"}) {
    expect_error(ErrorKind::kInvalidArgument, {"is an input"}, [&] {
      run_convert({.input = dir / "vae", .output = output, .form = CheckpointForm::kNative});
    });
  }
  expect_error(ErrorKind::kInvalidArgument, {"is an input"},
               [&] { run_convert({.input = dir / "vae", .output = dir / "vae"}); });
  EXPECT_EQ(read_file(weights), read_file(golden("odd_bf16/diffusion_pytorch_model.safetensors")));
}

TEST(Convert, ACancelledOneLeavesNothing) {
  const TempDir dir;
  ConvertJob job{.input = golden("odd_bf16"), .output = dir / "vae"};
  job.cancel.cancel();
  expect_error(ErrorKind::kCancelled, {"cancelled"}, [&] { run_convert(job); });
  EXPECT_EQ(dir.entries(), 0);
}

TEST(Convert, FoldersAndFilesAreNotMixedUp) {
  const TempDir dir;
  expect_error(ErrorKind::kInvalidArgument, {"is a folder; expected the name of a file"}, [&] {
    run_convert(
        {.input = golden("odd_bf16"), .output = dir.path(), .form = CheckpointForm::kNative});
  });
  test::write_file(dir / "x", "x");
  expect_error(ErrorKind::kInvalidArgument, {"is a file, and a diffusers checkpoint is a folder"},
               [&] { run_convert({.input = golden("odd_bf16"), .output = dir / "x"}); });
}

}  // namespace
}  // namespace pantograph
