#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "support/as_ordinary_user.h"
#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;
using test::AsOrdinaryUser;
using test::expect_error;
using test::fixture;
using test::TempDir;
using test::write_file;

const std::string kWeights = "diffusion_pytorch_model.safetensors";
const std::string kIndex = "diffusion_pytorch_model.safetensors.index.json";

// A file of one-byte tensors, each holding its value.
void write_tensors(const fs::path& path, const std::vector<std::pair<std::string, char>>& values) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : values) {
    tensors.push_back({.name = name, .dtype = DType::kU8, .shape = {1}});
  }
  SafetensorsWriter writer(path, tensors);
  for (const auto& [name, value] : values) writer.append(&value, 1);
  writer.finish();
}

char value_of(const Checkpoint& checkpoint, const std::string& name) {
  return *static_cast<const char*>(checkpoint.tensors.at(name).view.data);
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { write_file(dir_ / "config.json", R"({"z_dim": 48})"); }

  void write_index(const std::string& weight_map) {
    write_file(dir_ / kIndex,
               R"({"metadata": {"total_size": 2}, "weight_map": )" + weight_map + "}");
  }
  void expect_refused(ErrorKind kind, std::initializer_list<std::string_view> parts) {
    expect_error(kind, {dir_.path().string()}, [this] { open_checkpoint(dir_.path()); });
    expect_error(kind, parts, [this] { open_checkpoint(dir_.path()); });
  }

  TempDir dir_;
};

TEST_F(CheckpointTest, OneFile) {
  write_tensors(dir_ / kWeights, {{"a", 'x'}, {"b", 'y'}});
  const Checkpoint checkpoint = open_checkpoint(dir_.path());
  EXPECT_EQ(checkpoint.path, dir_.path());
  EXPECT_EQ(*checkpoint.config.find("z_dim")->integer(), 48);
  EXPECT_EQ(checkpoint.files, std::vector{dir_ / kWeights});
  ASSERT_EQ(checkpoint.tensors.size(), 2U);
  EXPECT_EQ(value_of(checkpoint, "a"), 'x');
  EXPECT_EQ(value_of(checkpoint, "b"), 'y');
}

TEST_F(CheckpointTest, TensorsOutliveTheCheckpoint) {
  write_tensors(dir_ / kWeights, {{"a", 'x'}});
  const CheckpointTensor tensor = open_checkpoint(dir_.path()).tensors.at("a");
  EXPECT_EQ(*static_cast<const char*>(tensor.view.data), 'x');
}

TEST_F(CheckpointTest, TheOnlyFileUnderAnotherName) {
  write_tensors(dir_ / "model.safetensors", {{"a", 'x'}});
  EXPECT_EQ(value_of(open_checkpoint(dir_.path()), "a"), 'x');
}

TEST_F(CheckpointTest, TheStandardNameBeforeVariants) {
  write_tensors(dir_ / kWeights, {{"a", 'x'}});
  write_tensors(dir_ / "diffusion_pytorch_model.fp16.safetensors", {{"a", 'y'}});
  EXPECT_EQ(value_of(open_checkpoint(dir_.path()), "a"), 'x');
}

TEST_F(CheckpointTest, Shards) {
  write_tensors(dir_ / "m-1.safetensors", {{"a", 'x'}, {"c", 'z'}});
  write_tensors(dir_ / "m-2.safetensors", {{"b", 'y'}});
  write_index(R"({"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-1.safetensors"})");
  const Checkpoint checkpoint = open_checkpoint(dir_.path());
  EXPECT_EQ(checkpoint.files, (std::vector{dir_ / "m-1.safetensors", dir_ / "m-2.safetensors"}));
  ASSERT_EQ(checkpoint.tensors.size(), 3U);
  EXPECT_EQ(value_of(checkpoint, "a"), 'x');
  EXPECT_EQ(value_of(checkpoint, "b"), 'y');
  EXPECT_EQ(value_of(checkpoint, "c"), 'z');
}

TEST_F(CheckpointTest, TheVaeOfAPipelinesFolder) {
  const TempDir pipeline;
  fs::create_directory(pipeline / "vae");
  fs::copy(dir_ / "config.json", pipeline / "vae/config.json");
  write_tensors(pipeline / "vae" / kWeights, {{"a", 'x'}});
  write_file(pipeline / "model_index.json", "{}");
  const Checkpoint checkpoint = open_checkpoint(pipeline.path());
  EXPECT_EQ(checkpoint.path, pipeline.path());
  EXPECT_EQ(value_of(checkpoint, "a"), 'x');
}

TEST_F(CheckpointTest, APathWhereNothingIs) {
  expect_error(ErrorKind::kNotFound, {"none: no such file or folder", "diffusers folder"},
               [this] { open_checkpoint(dir_ / "none"); });
}

TEST_F(CheckpointTest, OneSafetensorsFile) {
  write_tensors(dir_ / "vae.safetensors", {{"a", 'x'}, {"model.b", 'y'}});
  const Checkpoint checkpoint = open_checkpoint(dir_ / "vae.safetensors");
  EXPECT_STREQ(checkpoint.form, "safetensors file");
  EXPECT_TRUE(checkpoint.config.is_null());
  EXPECT_EQ(checkpoint.files, std::vector{dir_ / "vae.safetensors"});
  EXPECT_EQ(value_of(checkpoint, "a"), 'x');
  EXPECT_EQ(value_of(checkpoint, "model.b"), 'y');
}

TEST_F(CheckpointTest, AConfigInTheMetadata) {
  SafetensorsWriter(dir_ / "x.safetensors", {}, {{"config", R"({"z_dim": 48})"}}).finish();
  EXPECT_EQ(*open_checkpoint(dir_ / "x.safetensors").config.find("z_dim")->integer(), 48);
  SafetensorsWriter(dir_ / "x.safetensors", {}, {{"config", "{"}}).finish();
  expect_error(ErrorKind::kFormat, {"x.safetensors: the config in its metadata: not valid JSON"},
               [&] { open_checkpoint(dir_ / "x.safetensors"); });
}

TEST_F(CheckpointTest, OneTorchFile) {
  const Checkpoint plain = open_checkpoint(fixture("odd_native.pth"));
  EXPECT_STREQ(plain.form, "torch file");
  EXPECT_TRUE(plain.tensors.contains("decoder.conv1.weight"));
  // What the file has beside the weights is left out.
  const Checkpoint nested = open_checkpoint(fixture("odd_bf16.pt"));
  EXPECT_TRUE(nested.tensors.contains("decoder.conv_in.weight"));
  EXPECT_EQ(nested.tensors.size(), plain.tensors.size());
}

TEST_F(CheckpointTest, FilesThatAreNoCheckpoint) {
  expect_error(ErrorKind::kUnsupported, {"clip.npy: a .npy file is one array", "diffusers folder"},
               [] { open_checkpoint(fixture("latents/clip.npy")); });
  expect_error(ErrorKind::kUnsupported, {"views.pt: the tensor \"s\" [1, 2, 2]", ".contiguous()"},
               [] { open_checkpoint(fixture("torch/views.pt")); });
  write_file(dir_ / "x.pth", "x");
  expect_error(ErrorKind::kFormat, {"x.pth: 1 bytes are too few"},
               [this] { open_checkpoint(dir_ / "x.pth"); });
}

TEST_F(CheckpointTest, WithoutConfigSaysWhatIsThere) {
  fs::remove(dir_ / "config.json");
  expect_refused(ErrorKind::kNotFound, {"no config.json; found nothing; expected a diffusers"});
  write_file(dir_ / "Wan2.2_VAE.pth", "x");
  write_file(dir_ / "README.md", "x");
  expect_refused(ErrorKind::kNotFound, {"no config.json; found README.md, Wan2.2_VAE.pth;"});
  for (char c = 'a'; c <= 'z'; ++c) write_file(dir_ / std::string(1, c), "x");
  expect_refused(ErrorKind::kNotFound,
                 {"README.md, Wan2.2_VAE.pth, a, b, c, d, e, f and 20 more;"});
}

TEST_F(CheckpointTest, BrokenConfig) {
  write_tensors(dir_ / kWeights, {{"a", 'x'}});
  write_file(dir_ / "config.json", "{\n,}");
  expect_refused(ErrorKind::kFormat, {"config.json: not valid JSON at line 2, column 1"});
  write_file(dir_ / "config.json", "[1]");
  expect_refused(ErrorKind::kFormat, {"config.json: not a JSON object"});
  write_file(dir_ / "config.json", "");
  expect_refused(ErrorKind::kFormat, {"config.json: the file is empty"});
}

TEST_F(CheckpointTest, WithoutWeightsSaysWhatIsThere) {
  write_file(dir_ / "diffusion_pytorch_model.bin", "x");
  expect_refused(ErrorKind::kNotFound,
                 {"no safetensors file; found config.json, "
                  "diffusion_pytorch_model.bin; expected a diffusers folder"});
}

TEST_F(CheckpointTest, AmbiguousWeightsAreNotGuessed) {
  write_tensors(dir_ / "x.safetensors", {{"a", 'x'}});
  write_tensors(dir_ / "y.safetensors", {{"a", 'y'}});
  expect_refused(ErrorKind::kFormat, {"x.safetensors, y.safetensors could each be the weights"});
  write_tensors(dir_ / kWeights, {{"a", 'x'}});
  write_index(R"({"a": "x.safetensors"})");
  expect_refused(ErrorKind::kFormat, {kWeights + ", " + kIndex + " could each be the weights"});
}

TEST_F(CheckpointTest, BrokenWeightsNameTheFile) {
  write_file(dir_ / kWeights, "short");
  expect_refused(ErrorKind::kFormat, {(dir_ / kWeights).string() + ": 5 bytes are too few"});
}

TEST_F(CheckpointTest, MissingShardsAreListed) {
  write_tensors(dir_ / "m-1.safetensors", {{"a", 'x'}});
  write_index(R"({"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-3.safetensors"})");
  expect_refused(ErrorKind::kNotFound,
                 {kIndex + ": 2 of 3 shards are missing: m-2.safetensors, m-3.safetensors"});
}

TEST_F(CheckpointTest, ATruncatedShardNamesItself) {
  write_tensors(dir_ / "m-1.safetensors", {{"a", 'x'}});
  fs::resize_file(dir_ / "m-1.safetensors", fs::file_size(dir_ / "m-1.safetensors") - 1);
  write_index(R"({"a": "m-1.safetensors"})");
  expect_refused(ErrorKind::kFormat, {"m-1.safetensors: the tensor \"a\"", "truncated"});
}

TEST_F(CheckpointTest, AnIndexThatNamesATensorItsShardLacks) {
  write_tensors(dir_ / "m-1.safetensors", {{"a", 'x'}});
  write_index(R"({"a": "m-1.safetensors", "b": "m-1.safetensors"})");
  expect_refused(ErrorKind::kFormat, {"the tensor \"b\" should be in m-1.safetensors"});
}

TEST_F(CheckpointTest, ATensorInTwoShards) {
  write_tensors(dir_ / "m-1.safetensors", {{"a", 'x'}, {"b", 'x'}});
  write_tensors(dir_ / "m-2.safetensors", {{"b", 'y'}});
  write_index(R"({"a": "m-1.safetensors", "b": "m-2.safetensors"})");
  expect_refused(ErrorKind::kFormat,
                 {"the tensor \"b\" stands in both", "m-1.safetensors and ", "m-2.safetensors"});
}

TEST_F(CheckpointTest, AnIndexDoesNotLeadOutOfItsFolder) {
  write_tensors(dir_ / "m-1.safetensors", {{"a", 'x'}});
  for (const char* shard : {"../m-1.safetensors", "/etc/passwd", "sub/m.safetensors", "..", ".", "",
                            R"(sub\\m.safetensors)", R"(m-1.safetensors\u0000)"}) {
    write_index(std::string(R"({"a": ")") + shard + R"("})");
    expect_refused(ErrorKind::kFormat, {kIndex, "is not the name of a file beside the index"});
  }
}

TEST_F(CheckpointTest, BrokenIndexes) {
  write_index("{}");
  expect_refused(ErrorKind::kFormat, {kIndex + ": no \"weight_map\""});
  write_index("[]");
  expect_refused(ErrorKind::kFormat, {"no \"weight_map\""});
  write_file(dir_ / kIndex, R"({"metadata": {}})");
  expect_refused(ErrorKind::kFormat, {"no \"weight_map\""});
  write_index(R"({"a": 1})");
  expect_refused(ErrorKind::kFormat, {"\"a\" has a file name that is not a string"});
  write_file(dir_ / kIndex, "[");
  expect_refused(ErrorKind::kFormat, {kIndex + ": not valid JSON"});
}

TEST_F(CheckpointTest, AFolderThatCannotBeRead) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0311), 0);  // entered but not listed
  {
    const AsOrdinaryUser user;
    expect_refused(ErrorKind::kIo, {"the folder cannot be listed: Permission denied"});
  }
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
}

}  // namespace
}  // namespace pantograph
