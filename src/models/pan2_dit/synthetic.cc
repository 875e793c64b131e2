#include "models/pan2_dit/synthetic.h"

#include <cmath>

#include "checkpoint/synthetic_writer.h"

namespace pantograph::pan2_dit {
namespace {

SyntheticTensor random_tensor(TensorSpec spec) {
  const bool is_matrix = spec.shape.size() > 1;
  const bool is_norm =
      !spec.name.ends_with(".bias") &&
      (spec.name.find("norm") != std::string::npos || spec.name == "context_embedder.0.weight");
  double fan_in = 1;
  for (std::size_t i = 1; i < spec.shape.size(); ++i) {
    fan_in *= static_cast<double>(spec.shape[i]);
  }
  if (is_matrix) return {.spec = std::move(spec), .mean = 0, .deviation = 1 / std::sqrt(fan_in)};
  return {.spec = std::move(spec), .mean = is_norm ? 1.0 : 0.0, .deviation = is_norm ? 0.2 : 0.3};
}

}  // namespace

Config tiny_config(std::int64_t text_channels) {
  Config config = released_config();
  config.heads = 4;
  config.head_dim = 32;
  config.layers = 3;
  config.refiner_layers = 2;
  config.text_channels = text_channels;
  config.rope.axis_channels = {4, 14, 14};
  return config;
}

void make_checkpoint(const std::filesystem::path& folder, const Config& config, std::uint64_t seed,
                     DType dtype, std::int64_t shard_bytes) {
  std::vector<SyntheticTensor> all;
  for (TensorSpec& spec : tensors(config)) all.push_back(random_tensor(std::move(spec)));
  write_synthetic_checkpoint(folder, config_to_json(config), all, seed, dtype, shard_bytes);
}

}  // namespace pantograph::pan2_dit
