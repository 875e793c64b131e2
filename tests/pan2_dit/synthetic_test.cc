#include "models/pan2_dit/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "support/temp_dir.h"
#include "weights/weight.h"

namespace pantograph::pan2_dit {
namespace {

using test::TempDir;

Config one_layer() {
  Config config = tiny_config(16);
  config.layers = config.refiner_layers = 1;
  config.mlp_ratio = 2;
  return config;
}

TEST(SyntheticDit, HasTheReleasedModelsNames) {
  const TempDir dir;
  make_checkpoint(dir.path(), one_layer(), 1, DType::kBF16);
  const Checkpoint checkpoint = open_checkpoint(dir.path());
  const std::vector<TensorSpec> specs = tensors(one_layer());
  EXPECT_EQ(checkpoint.tensors.size(), specs.size());
  EXPECT_NO_THROW(check_tensors(specs, checkpoint));
  EXPECT_EQ(config_to_json(parse_config(checkpoint.config, "c")).dump(),
            config_to_json(one_layer()).dump());
}

TEST(SyntheticDit, ShardsAndDtypesHoldTheSameNumbers) {
  const TempDir dir;
  make_checkpoint(dir / "one", one_layer(), 5, DType::kBF16);
  write_synthetic_checkpoint(dir / "many", synthetic_checkpoint(one_layer()),
                             {.seed = 5, .dtype = DType::kF32, .shard_bytes = 1 << 20});
  make_checkpoint(dir / "other", one_layer(), 6, DType::kF32);
  const Checkpoint one = open_checkpoint(dir / "one"), many = open_checkpoint(dir / "many"),
                   other = open_checkpoint(dir / "other");
  EXPECT_EQ(one.files.size(), 1U);
  EXPECT_GT(many.files.size(), 2U);
  for (const auto& [name, tensor] : one.tensors) {
    EXPECT_EQ(Weight(tensor).to_f32(), Weight(many.tensors.at(name)).to_f32()) << name;
    EXPECT_NE(Weight(tensor).to_f32(), Weight(other.tensors.at(name)).to_f32()) << name;
  }
}

TEST(SyntheticDit, MatricesKeepUnitSizeAndNormsAreNearOne) {
  const TempDir dir;
  make_checkpoint(dir.path(), one_layer(), 1, DType::kF32);
  const Checkpoint checkpoint = open_checkpoint(dir.path());
  const auto moments = [&](const std::string& name) {
    double sum = 0, squares = 0;
    const std::vector<float> values = Weight(checkpoint.tensors.at(name)).to_f32();
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    const auto count = static_cast<double>(values.size());
    return std::pair(sum / count, std::sqrt(squares / count - sum * sum / count / count));
  };
  for (const char* matrix : {"attn.to_q", "norm1.linear"}) {
    const auto [mean, deviation] =
        moments("transformer_blocks.0." + std::string(matrix) + ".weight");
    EXPECT_NEAR(mean, 0, 0.01) << matrix;
    EXPECT_NEAR(deviation * std::sqrt(128.0), 1, 0.03) << matrix;
  }
  const auto [norm_mean, norm_deviation] = moments("context_refiner.0.norm1.weight");
  EXPECT_NEAR(norm_mean, 1, 0.1);
  EXPECT_NEAR(norm_deviation, 0.2, 0.1);
}

}  // namespace
}  // namespace pantograph::pan2_dit
