#include "weights/lora.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"
#include "weights/weight_source.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::TempDir;
using Metadata = std::map<std::string, std::string>;

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using Tensors = std::map<std::string, Tensor>;

class LoraTest : public testing::Test {
 protected:
  // A model of two weights: "blocks.0.to_q" [2, 3], all 1, and a convolution [2, 1, 1, 1, 2].
  LoraTest() {
    write(dir_ / "m.safetensors", {{"blocks.0.to_q.weight", {{2, 3}, {1, 1, 1, 1, 1, 1}}},
                                   {"patch.weight", {{2, 1, 1, 1, 2}, {0, 0, 0, 0}}}});
    const SafetensorsFile file = SafetensorsFile::open(dir_ / "m.safetensors");
    model_.path = dir_.path();
    for (const auto& [name, entry] : file.header().tensors) {
      model_.tensors[name] = {file.view(name), file.file()};
    }
  }

  static void write(const std::filesystem::path& path, const Tensors& tensors,
                    const Metadata& metadata = {}) {
    std::vector<NamedTensor> names;
    for (const auto& [name, tensor] : tensors) names.push_back({name, DType::kF32, tensor.shape});
    SafetensorsWriter writer(path, names, metadata);
    for (const auto& [name, tensor] : tensors) {
      writer.append(tensor.values.data(), tensor.values.size() * sizeof(float));
    }
    writer.finish();
  }
  LoraFile adapter(const Tensors& tensors, double scale = 1, const Metadata& metadata = {}) {
    write(dir_ / "lora.safetensors", tensors, metadata);
    return {.path = dir_ / "lora.safetensors", .scale = scale};
  }
  std::vector<float> merged(const LoraFile& file,
                            const std::string& name = "blocks.0.to_q.weight") {
    return WeightSource(model_, {file}).weight(name).to_f32();
  }
  void expect_refused(const Tensors& tensors, ErrorKind kind,
                      std::initializer_list<std::string_view> parts,
                      const Metadata& metadata = {}) {
    expect_error(kind, parts, [&] { read_lora(adapter(tensors, 1, metadata), model_); });
  }

  // Rank 1: B A = [[1], [10]] [[1, 2, 3]].
  const Tensor down_{{1, 3}, {1, 2, 3}}, up_{{2, 1}, {1, 10}};
  const std::vector<float> sum_ = {2, 3, 4, 11, 21, 31};
  TempDir dir_;
  Checkpoint model_;
};

TEST_F(LoraTest, EveryToolsNamesAreKnown) {
  for (const auto& [down, up] : std::vector<std::pair<std::string, std::string>>{
           {"lora_A.weight", "lora_B.weight"},
           {"lora_A.default.weight", "lora_B.default.weight"},
           {"lora_down.weight", "lora_up.weight"},
           {"lora.down.weight", "lora.up.weight"}}) {
    for (const std::string prefix : {"", "transformer.", "base_model.model.", "diffusion_model.",
                                     "base_model.model.transformer."}) {
      const std::string module = prefix + "blocks.0.to_q.";
      EXPECT_EQ(merged(adapter({{module + down, down_}, {module + up, up_}})), sum_)
          << module << down;
    }
  }
}

TEST_F(LoraTest, TheUpdateIsScaledByAlphaOverRankAndTheUsersScale) {
  // Rank 2, alpha 4, scale 0.25: half of B A = 1 everywhere but 3 in the last column.
  const Tensors tensors = {{"blocks.0.to_q.lora_A.weight", {{2, 3}, {1, 1, 1, 0, 0, 2}}},
                           {"blocks.0.to_q.lora_B.weight", {{2, 2}, {1, 1, 1, 1}}},
                           {"blocks.0.to_q.alpha", {{}, {4}}}};
  EXPECT_EQ(merged(adapter(tensors, 0.25)), (std::vector<float>{1.5, 1.5, 2.5, 1.5, 1.5, 2.5}));
  EXPECT_EQ(merged(adapter(tensors, 0)), std::vector<float>(6, 1));
  EXPECT_EQ(merged(adapter(tensors, -0.5)), (std::vector<float>{0, 0, -2, 0, 0, -2}));
}

TEST_F(LoraTest, AlphaMayStandInTheMetadata) {
  const Tensors tensors = {{"transformer.blocks.0.to_q.lora_A.weight", down_},
                           {"transformer.blocks.0.to_q.lora_B.weight", up_}};
  const Metadata metadata = {
      {"lora_adapter_metadata", R"({"transformer.lora_alpha": 2, "transformer.r": 1})"}};
  EXPECT_EQ(merged(adapter(tensors, 1, metadata)), (std::vector<float>{3, 5, 7, 21, 41, 61}));
  expect_refused(tensors, ErrorKind::kUnsupported, {"transformer.alpha_pattern"},
                 {{"lora_adapter_metadata", R"({"transformer.alpha_pattern": {"to_q": 3}})"}});
  expect_refused(tensors, ErrorKind::kUnsupported, {"transformer.use_dora"},
                 {{"lora_adapter_metadata", R"({"transformer.use_dora": true})"}});
}

TEST_F(LoraTest, ConvolutionsAreMatricesOfTheirFirstDimension) {
  const LoraFile file = adapter({{"patch.lora_A.weight", {{1, 1, 1, 1, 2}, {1, 2}}},
                                 {"patch.lora_B.weight", {{2, 1, 1, 1, 1}, {3, 4}}}});
  EXPECT_EQ(merged(file, "patch.weight"), (std::vector<float>{3, 6, 4, 8}));
  EXPECT_EQ(merged(file), std::vector<float>(6, 1));
}

TEST_F(LoraTest, AnAdapterThatFitsNothingSaysWhatItWanted) {
  expect_refused({{"transformer.layers.7.q.lora_A.weight", down_},
                  {"transformer.layers.7.q.lora_B.weight", up_}},
                 ErrorKind::kFormat, {"fits nothing", "it wants layers.7.q", "lora.safetensors"});
  expect_refused({{"blocks.0.to_q.lora_A.weight", down_},
                  {"blocks.0.to_q.lora_B.weight", up_},
                  {"blocks.9.to_q.lora_A.weight", down_},
                  {"blocks.9.to_q.lora_B.weight", up_}},
                 ErrorKind::kFormat, {"only a part", "it wants blocks.9.to_q"});
}

TEST_F(LoraTest, BrokenAdaptersAreRefused) {
  expect_refused({{"blocks.0.to_q.lora_A.weight", down_}}, ErrorKind::kFormat,
                 {"blocks.0.to_q", "only one of"});
  expect_refused(
      {{"blocks.0.to_q.lora_A.weight", {{1, 2}, {1, 2}}}, {"blocks.0.to_q.lora_B.weight", up_}},
      ErrorKind::kFormat, {"[1, 2]", "[2, 1]", "[2, 3]"});
  expect_refused({{"blocks.0.to_q.lora_A.weight", down_},
                  {"blocks.0.to_q.lora_B.weight", {{2, 2}, {1, 1, 1, 1}}}},
                 ErrorKind::kFormat, {"do not fit"});
  expect_refused(
      {{"blocks.0.to_q.lora_A.weight", down_}, {"transformer.blocks.0.to_q.lora_A.weight", down_}},
      ErrorKind::kFormat, {"twice"});
  expect_refused({{"blocks.0.to_q.lora_A.weight", down_},
                  {"blocks.0.to_q.lora_B.weight", up_},
                  {"blocks.0.to_q.alpha", {{2}, {1, 1}}}},
                 ErrorKind::kFormat, {"alpha is not one number"});
  expect_refused({{"blocks.0.to_q.lora_magnitude_vector", {{2}, {1, 1}}}}, ErrorKind::kUnsupported,
                 {"lora_magnitude_vector", "no part of a plain LoRA"});
  expect_error(ErrorKind::kInvalidArgument, {"finite"},
               [&] { read_lora(adapter({{"blocks.0.to_q.lora_A.weight", down_}}, NAN), model_); });
}

}  // namespace
}  // namespace pantograph
