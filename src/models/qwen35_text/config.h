// config.json of a Qwen3.5 text tower, and the tensors that a tower of that configuration has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/json.h"
#include "checkpoint/tensor_spec.h"
#include "ops/delta_rule/delta_rule.h"

namespace pantograph::qwen35_text {

enum class LayerKind { kFullAttention, kLinearAttention };

struct TextConfig {
  std::int64_t vocabulary = 0, hidden = 0, intermediate = 0;
  double norm_eps = 0;
  std::vector<LayerKind> layers;

  // Full attention. The first `rotated` channels of each head turn with the position.
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0, rotated = 0;
  double rope_theta = 0;
  bool attention_bias = false;

  // Linear attention (Gated DeltaNet).
  ops::DeltaRuleHeads linear;
  std::int64_t conv_taps = 0;

  [[nodiscard]] std::int64_t linear_keys() const { return linear.key_heads * linear.key_dim; }
  [[nodiscard]] std::int64_t linear_values() const { return linear.value_heads * linear.value_dim; }
  [[nodiscard]] std::int64_t conv_channels() const { return 2 * linear_keys() + linear_values(); }
};

// `json` is a text tower's config, or one of a model that has it as "text_config". Throws Error
// that begins with `where`: kFormat, kUnsupported (another model, rope_type or layer type).
TextConfig parse_config(const Json& json, const std::string& where);
Json config_to_json(const TextConfig& config);

// Every tensor, under names without prefix: "embed_tokens.weight", "layers.0. ...", "norm.weight".
std::vector<TensorSpec> tensors(const TextConfig& config);

// The same checkpoint with the prefix taken from the tower's names and other models' tensors
// (lm_head, mtp, visual) left out.
Checkpoint without_prefixes(Checkpoint checkpoint);

}  // namespace pantograph::qwen35_text
