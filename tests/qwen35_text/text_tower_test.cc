// The text tower against transformers' Qwen3_5TextModel in fp32.
#include "models/qwen35_text/text_tower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "core/convert.h"
#include "core/parallel.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph::qwen35_text {
namespace {

using test::expect_error;
using test::read_file;
using test::TempDir;
using test::write_file;

// Of max|d|, relative to the largest value.
constexpr double kTolerance = 1e-4;
constexpr int kLayers = 8;

std::filesystem::path golden() {
  return std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / "qwen35_text";
}

std::vector<std::int32_t> ids_of(const TensorView& view) {
  const auto* ids = static_cast<const std::int32_t*>(view.data);
  return {ids, ids + view.elements()};
}

double relative_difference(std::span<const float> values, const TensorView& expected) {
  if (static_cast<std::int64_t>(values.size()) != expected.elements()) return 1e9;
  const auto* wanted = static_cast<const float*>(expected.data);
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(double{values[i]} - double{wanted[i]});
    if (!(difference <= largest)) largest = difference;  // NaN too
    scale = std::max(scale, std::abs(double{wanted[i]}));
  }
  return largest / scale;
}

// The golden checkpoint in another dtype and under another prefix.
void write_variant(const std::filesystem::path& folder, DType dtype, const std::string& prefix) {
  const Checkpoint checkpoint = open_checkpoint(golden());
  const std::string old_prefix = "model.language_model.";
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const auto sizes = tensor.view.sizes();
    tensors.push_back(
        {prefix + name.substr(old_prefix.size()), dtype, {sizes.begin(), sizes.end()}});
  }
  tensors.push_back({"lm_head.weight", DType::kF32, {1}});
  tensors.push_back({"mtp.layers.0.weight", DType::kF32, {1}});
  tensors.push_back({"model.visual.blocks.0.weight", DType::kF32, {1}});
  SafetensorsWriter writer(folder / "model.safetensors", tensors);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    std::vector<float> values(static_cast<std::size_t>(tensor.view.elements()));
    convert_to_f32(tensor.view.dtype, tensor.view.data, values.data(), tensor.view.elements());
    std::vector<std::byte> stored(values.size() * size_of(dtype));
    convert_from_f32(values.data(), dtype, stored.data(), tensor.view.elements());
    writer.append(stored.data(), stored.size());
  }
  const std::vector<float> others(3);
  writer.append(others.data(), 3 * sizeof(float));
  writer.finish();
  write_file(folder / "config.json", read_file(golden() / "config.json"));
}

class Hidden : public testing::TestWithParam<const char*> {};

TEST_P(Hidden, EveryEntryIsAsTransformersHasIt) {
  const ThreadLimit one(1);  // so little work is not worth waiting for others
  const SafetensorsFile file = SafetensorsFile::open(golden() / "prompts" / GetParam());
  const std::vector<std::int32_t> ids = ids_of(file.view("ids"));
  const TensorView hidden = file.view("hidden");
  ASSERT_EQ(hidden.shape[0], kLayers + 1);
  for (int entry = 0; entry <= kLayers; ++entry) {
    const HiddenStates states = TextTower::open(golden(), entry).encode(ids);
    EXPECT_EQ(states.tokens, static_cast<std::int64_t>(ids.size()));
    EXPECT_LE(relative_difference(states.values, hidden.slice(0, entry, 1)), kTolerance) << entry;
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, Hidden,
                         testing::Values("t1.safetensors", "t3.safetensors", "t64.safetensors",
                                         "t130.safetensors"));

TEST(TextTower, Pan2ReadsTheThirdEntryFromTheEnd) {
  const SafetensorsFile file = SafetensorsFile::open(golden() / "prompts/t64.safetensors");
  const HiddenStates states = TextTower::open(golden()).encode(ids_of(file.view("ids")));
  EXPECT_LE(relative_difference(states.values, file.view("hidden").slice(0, kLayers - 2, 1)),
            kTolerance);
}

TEST(TextTower, StatesBeginWhereAskedForAndDependOnWhatIsBefore) {
  const SafetensorsFile file = SafetensorsFile::open(golden() / "prompts/t64.safetensors");
  const std::vector<std::int32_t> ids = ids_of(file.view("ids"));
  const HiddenStates states = TextTower::open(golden(), kLayers).encode(ids, 20);
  EXPECT_EQ(states.tokens, 44);
  const TensorView expected = file.view("hidden").slice(0, kLayers, 1).slice(1, 20, 44);
  EXPECT_LE(relative_difference(states.values, expected), kTolerance);
}

TEST(TextTower, PromptsOfOtherLengthsRunOneAfterTheOther) {
  const TextTower tower = TextTower::open(golden(), kLayers);
  for (const char* name : {"t130.safetensors", "t3.safetensors", "t130.safetensors"}) {
    const SafetensorsFile file = SafetensorsFile::open(golden() / "prompts" / name);
    const HiddenStates states = tower.encode(ids_of(file.view("ids")));
    EXPECT_LE(relative_difference(states.values, file.view("hidden").slice(0, kLayers, 1)),
              kTolerance);
  }
}

TEST(TextTower, EveryPrefixAndFloatingTypeLoads) {
  const ThreadLimit one(1);
  const SafetensorsFile file = SafetensorsFile::open(golden() / "prompts/t3.safetensors");
  const std::vector<std::int32_t> ids = ids_of(file.view("ids"));
  for (const char* prefix : {"", "model.", "language_model.", "model.language_model."}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const TempDir folder;
      write_variant(folder.path(), dtype, prefix);
      const HiddenStates states = TextTower::open(folder.path(), kLayers).encode(ids);
      EXPECT_LE(relative_difference(states.values, file.view("hidden").slice(0, kLayers, 1)),
                kTolerance)
          << prefix << " " << to_string(dtype);
    }
  }
}

TEST(TextTower, WeightsThatDisagreeWithTheConfigAreListed) {
  const TempDir folder;
  write_variant(folder.path(), DType::kBF16, "");
  std::string config = read_file(folder / "config.json");
  const std::string size = "\"intermediate_size\": 48";
  config.replace(config.find(size), size.size(), "\"intermediate_size\": 56");
  write_file(folder / "config.json", config);
  expect_error(ErrorKind::kFormat,
               {"layers.0.mlp.gate_proj.weight has the shape [48, 32]", "[56, 32]",
                "layers.0.mlp.up_proj.weight", "more"},
               [&] { TextTower::open(folder.path()); });
}

TEST(TextTower, EntriesAndIdsThatThereAreNotAreRefused) {
  expect_error(ErrorKind::kInvalidArgument, {"8 layers", "hidden states 9"},
               [] { TextTower::open(golden(), 9); });
  expect_error(ErrorKind::kInvalidArgument, {"8 layers", "hidden states -10"},
               [] { TextTower::open(golden(), -10); });
  const TextTower tower = TextTower::open(golden(), 1);
  const std::vector<std::int32_t> good = {1, 2}, large = {1, 120}, negative = {-1};
  expect_error(ErrorKind::kInvalidArgument, {"token id 120", "120 tokens"},
               [&] { static_cast<void>(tower.encode(large)); });
  expect_error(ErrorKind::kInvalidArgument, {"token id -1"},
               [&] { static_cast<void>(tower.encode(negative)); });
  for (const std::int64_t begin : {-1, 2}) {
    expect_error(ErrorKind::kInvalidArgument, {"of 2"},
                 [&] { static_cast<void>(tower.encode(good, begin)); });
  }
}

TEST(TextTower, StopsWhenCancelled) {
  const TextTower tower = TextTower::open(golden());
  const CancelToken cancel;
  cancel.cancel();
  const std::vector<std::int32_t> ids = {1, 2};
  expect_error(ErrorKind::kCancelled, {"cancelled"},
               [&] { static_cast<void>(tower.encode(ids, 0, &cancel)); });
}

TEST(TextTower, NothingThereIsSaid) {
  const TempDir empty;
  expect_error(ErrorKind::kNotFound, {"config.json"}, [&] { TextTower::open(empty.path()); });
}

}  // namespace
}  // namespace pantograph::qwen35_text
