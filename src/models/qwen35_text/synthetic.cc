#include "models/qwen35_text/synthetic.h"

#include <cmath>
#include <string>
#include <utility>

namespace pantograph::qwen35_text {
namespace {

constexpr std::size_t kInterval = 4;  // of full attention

std::vector<LayerKind> layer_kinds(std::size_t count) {
  std::vector<LayerKind> kinds(count, LayerKind::kLinearAttention);
  for (std::size_t i = kInterval - 1; i < count; i += kInterval) {
    kinds[i] = LayerKind::kFullAttention;
  }
  return kinds;
}

SyntheticTensor random_tensor(TensorSpec spec) {
  const auto ends = [&](const char* ending) { return spec.name.ends_with(ending); };
  SyntheticTensor tensor{.scale = 0.2};  // norms are zero-centred, all but the gated one
  if (ends("embed_tokens.weight") || ends(".dt_bias")) {
    tensor.scale = 1;
  } else if (ends(".A_log")) {
    tensor = {.mean = -1.5, .scale = 1};
  } else if (ends(".linear_attn.norm.weight")) {
    tensor.mean = 1;
  } else if (spec.shape.size() > 1) {
    tensor.scale = 1 / std::sqrt(fan_in(spec));
  }
  tensor.spec = std::move(spec);
  return tensor;
}

}  // namespace

TextConfig released_config() {
  return {.vocabulary = 248320,
          .hidden = 4096,
          .intermediate = 12288,
          .norm_eps = 1e-6,
          .layers = layer_kinds(32),
          .heads = 16,
          .kv_heads = 4,
          .head_dim = 256,
          .rotated = 64,
          .rope_theta = 1e7,
          .linear = {.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128},
          .conv_taps = 4};
}

TextConfig tiny_config(std::int64_t vocabulary) {
  TextConfig config = released_config();
  config.vocabulary = vocabulary;
  config.hidden = 128;
  config.intermediate = 384;
  config.layers = layer_kinds(8);
  config.heads = 4;
  config.kv_heads = 1;
  config.head_dim = 32;
  config.rotated = 8;
  config.linear = {.key_heads = 2, .value_heads = 4, .key_dim = 32, .value_dim = 32};
  return config;
}

SyntheticCheckpoint synthetic_checkpoint(const TextConfig& config) {
  SyntheticCheckpoint checkpoint{.config = config_to_json(config), .stem = "model"};
  for (TensorSpec& spec : tensors(config)) {
    checkpoint.tensors.push_back(random_tensor(std::move(spec)));
  }
  return checkpoint;
}

}  // namespace pantograph::qwen35_text
