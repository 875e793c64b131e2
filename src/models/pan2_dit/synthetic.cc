#include "models/pan2_dit/synthetic.h"

#include <cmath>
#include <utility>

namespace pantograph::pan2_dit {
namespace {

SyntheticTensor random_tensor(TensorSpec spec) {
  const bool is_matrix = spec.shape.size() > 1;
  const bool is_norm =
      !is_matrix && !spec.name.ends_with(".bias") &&
      (spec.name.find("norm") != std::string::npos || spec.name == "context_embedder.0.weight");
  const double scale = is_matrix ? 1 / std::sqrt(fan_in(spec)) : is_norm ? 0.2 : 0.3;
  return {.spec = std::move(spec), .mean = is_norm ? 1.0 : 0.0, .scale = scale};
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

SyntheticCheckpoint synthetic_checkpoint(const Config& config) {
  SyntheticCheckpoint checkpoint{.config = config_to_json(config)};
  for (TensorSpec& spec : tensors(config)) {
    checkpoint.tensors.push_back(random_tensor(std::move(spec)));
  }
  return checkpoint;
}

void make_checkpoint(const std::filesystem::path& folder, const Config& config, std::uint64_t seed,
                     DType dtype) {
  write_synthetic_checkpoint(folder, synthetic_checkpoint(config), {.seed = seed, .dtype = dtype});
}

}  // namespace pantograph::pan2_dit
