#include "models/qwen35_text/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/checkpoint.h"
#include "models/qwen35_text/text_tower.h"
#include "support/temp_dir.h"
#include "weights/weight.h"

namespace pantograph::qwen35_text {
namespace {

using test::TempDir;

constexpr std::int64_t kVocabulary = 300;
constexpr int kLayers = 8;

std::int64_t parameters(const TextConfig& config) {
  return weight_bytes(synthetic_checkpoint(config), DType::kF32) / 4;
}

std::vector<float> encode(const std::filesystem::path& folder, int entry) {
  std::vector<std::int32_t> ids(200);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i % kVocabulary);
  return TextTower::open(folder, entry).encode(ids).values;
}

double root_mean_square(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(SyntheticTower, TheReleasedOneHasTheReleasesSize) {
  // By hand: embeddings 248320 x 4096; a layer's MLP and norms 3 x 4096 x 12288 + 2 x 4096;
  // 24 linear mixers, 8 full ones; the final norm.
  constexpr std::int64_t kHidden = 4096, kMlp = 3 * kHidden * 12288 + 2 * kHidden;
  constexpr std::int64_t kLinear =
      kHidden * (8192 + 4096 + 32 + 32) + 8192 * 4 + 32 + 32 + 128 + 4096 * kHidden;
  constexpr std::int64_t kFull = kHidden * (2 * 16 + 4 + 4) * 256 + 16 * 256 * kHidden + 2 * 256;
  EXPECT_EQ(parameters(released_config()),
            248320 * kHidden + 32 * kMlp + 24 * kLinear + 8 * kFull + kHidden);
}

TEST(SyntheticTower, OpensAndItsStatesKeepUnitSize) {
  const TempDir dir;
  write_synthetic_checkpoint(dir.path(), synthetic_checkpoint(tiny_config(kVocabulary)),
                             {.seed = 1, .dtype = DType::kBF16});
  EXPECT_EQ(TextTower::open(dir.path()).config().layers, tiny_config(kVocabulary).layers);
  for (int entry = 0; entry <= kLayers; ++entry) {
    const double size = root_mean_square(encode(dir.path(), entry));
    EXPECT_GT(size, 0.5) << entry;
    EXPECT_LT(size, 5) << entry;
  }
}

TEST(SyntheticTower, EveryTensorIsRandom) {
  const TempDir dir;
  write_synthetic_checkpoint(dir / "a", synthetic_checkpoint(tiny_config(kVocabulary)),
                             {.seed = 1, .shard_bytes = 1 << 20});
  write_synthetic_checkpoint(dir / "b", synthetic_checkpoint(tiny_config(kVocabulary)),
                             {.seed = 2});
  const Checkpoint a = open_checkpoint(dir / "a"), b = open_checkpoint(dir / "b");
  EXPECT_GT(a.files.size(), 2U);
  EXPECT_NO_THROW(check_tensors(tensors(tiny_config(kVocabulary)), a));
  for (const auto& [name, tensor] : a.tensors) {
    const std::vector<float> values = Weight(tensor).to_f32();
    EXPECT_NE(values, Weight(b.tensors.at(name)).to_f32()) << name;
    EXPECT_NE(*std::ranges::min_element(values), *std::ranges::max_element(values)) << name;
  }
}

}  // namespace
}  // namespace pantograph::qwen35_text
