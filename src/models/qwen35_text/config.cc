#include "models/qwen35_text/config.h"

#include <array>
#include <string_view>
#include <utility>

#include "checkpoint/config_reader.h"

namespace pantograph::qwen35_text {
namespace {

// Sizes beyond these are mistakes or attacks, and products of them stay far from overflow.
constexpr std::int64_t kMostTokens = 1 << 24;
constexpr std::int64_t kMostChannels = 1 << 16;
constexpr std::int64_t kMostHeads = 1 << 10;
constexpr std::int64_t kMostLayers = 1024;

constexpr double kDefaultTheta = 10000, kDefaultRotaryFactor = 0.25;
constexpr std::int64_t kDefaultInterval = 4;

void refuse_other_models(const ConfigReader& read) {
  const Json* type = read.find("model_type");
  if (type != nullptr && (type->string() == nullptr ||
                          (*type->string() != "qwen3_5_text" && *type->string() != "qwen3_5"))) {
    read.refuse(ErrorKind::kUnsupported, "\"model_type\" is ", type->dump(),
                ", expected \"qwen3_5_text\"");
  }
  const Json* activation = read.find("hidden_act");
  if (activation != nullptr &&
      (activation->string() == nullptr || *activation->string() != "silu")) {
    read.refuse(ErrorKind::kUnsupported, "\"hidden_act\" is ", activation->dump(),
                "; only \"silu\" is supported");
  }
  if (!read.boolean("attn_output_gate", true)) {
    read.refuse(ErrorKind::kUnsupported, "\"attn_output_gate\" is false; only true is supported");
  }
}

LayerKind layer_kind(const Json& type, const ConfigReader& read) {
  constexpr std::array<std::pair<std::string_view, LayerKind>, 5> kNames = {
      {{"full_attention", LayerKind::kFullAttention},
       {"linear_attention", LayerKind::kLinearAttention},
       {"attention", LayerKind::kFullAttention},
       {"mamba", LayerKind::kLinearAttention},
       {"conv", LayerKind::kLinearAttention}}};
  for (const auto& [name, kind] : kNames) {
    if (type.string() != nullptr && *type.string() == name) return kind;
  }
  read.refuse(ErrorKind::kUnsupported, "the layer type ", type.dump(),
              " in \"layer_types\" is not known; expected \"full_attention\" or "
              "\"linear_attention\"");
}

std::vector<LayerKind> read_layers(const ConfigReader& read) {
  const std::int64_t count = read.integer("num_hidden_layers", 1, kMostLayers);
  std::vector<LayerKind> layers;
  if (const Json* types = read.find("layer_types")) {
    if (types->array() == nullptr || types->array()->size() != static_cast<std::size_t>(count)) {
      read.refuse(ErrorKind::kFormat, "\"layer_types\" must be a list of ", count,
                  " names, as \"num_hidden_layers\" says");
    }
    for (const Json& type : *types->array()) layers.push_back(layer_kind(type, read));
    return layers;
  }
  const std::int64_t interval = read.find("full_attention_interval") == nullptr
                                    ? kDefaultInterval
                                    : read.integer("full_attention_interval", 1, kMostLayers);
  for (std::int64_t i = 1; i <= count; ++i) {
    layers.push_back(i % interval == 0 ? LayerKind::kFullAttention : LayerKind::kLinearAttention);
  }
  return layers;
}

// "rope_scaling" (an older name) or "rope_parameters", the first that says something.
const Json* rope_json(const ConfigReader& read) {
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const Json* value = read.find(key);
    if (value == nullptr) continue;
    if (value->object() == nullptr) {
      read.refuse(ErrorKind::kFormat, "\"", key, "\" must be an object");
    }
    if (!value->object()->empty()) return value;
  }
  return nullptr;
}

void read_rope(const ConfigReader& read, const std::string& where, TextConfig& config) {
  static const Json none{Json::Object()};
  const Json* json = rope_json(read);
  const ConfigReader rope(json == nullptr ? none : *json, where);
  for (const std::string_view key : {"rope_type", "type"}) {
    const Json* type = rope.find(key);
    if (type == nullptr) continue;
    if (type->string() == nullptr || *type->string() != "default") {
      read.refuse(ErrorKind::kUnsupported, "the rope_type ", type->dump(),
                  " is not supported; only \"default\" is");
    }
    break;
  }
  config.rope_theta = rope.number("rope_theta", read.number("rope_theta", kDefaultTheta));
  const double factor = rope.number("partial_rotary_factor",
                                    read.number("partial_rotary_factor", kDefaultRotaryFactor));
  if (config.rope_theta <= 0) {
    read.refuse(ErrorKind::kFormat, "\"rope_theta\" must be positive, not ", config.rope_theta);
  }
  const double rotated = static_cast<double>(config.head_dim) * factor;
  if (factor <= 0 || factor > 1 || static_cast<std::int64_t>(rotated) % 2 != 0 || rotated < 2) {
    read.refuse(ErrorKind::kFormat, "\"partial_rotary_factor\" ", factor, " of \"head_dim\" ",
                config.head_dim, " is ", rotated,
                " channels; it must be an even number of 2 or more");
  }
  config.rotated = static_cast<std::int64_t>(rotated);
}

void require_divides(const ConfigReader& read, std::string_view few_key, std::int64_t few,
                     std::string_view many_key, std::int64_t many) {
  if (many % few != 0) {
    read.refuse(ErrorKind::kFormat, "\"", many_key, "\" ", many, " is no multiple of \"", few_key,
                "\" ", few);
  }
}

class Specs {
 public:
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    specs_.push_back({name, std::move(shape)});
  }
  void add_linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias = false) {
    add(name + ".weight", {out, in});
    if (bias) add(name + ".bias", {out});
  }
  [[nodiscard]] std::vector<TensorSpec> take() { return std::move(specs_); }

 private:
  std::vector<TensorSpec> specs_;
};

void add_full_attention(Specs& specs, const TextConfig& c, const std::string& name) {
  const std::int64_t inner = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  specs.add_linear(name + ".q_proj", c.hidden, 2 * inner, c.attention_bias);
  specs.add_linear(name + ".k_proj", c.hidden, kv, c.attention_bias);
  specs.add_linear(name + ".v_proj", c.hidden, kv, c.attention_bias);
  specs.add_linear(name + ".o_proj", inner, c.hidden, c.attention_bias);
  specs.add(name + ".q_norm.weight", {c.head_dim});
  specs.add(name + ".k_norm.weight", {c.head_dim});
}

void add_linear_attention(Specs& specs, const TextConfig& c, const std::string& name) {
  specs.add(name + ".A_log", {c.linear.value_heads});
  specs.add(name + ".conv1d.weight", {c.conv_channels(), 1, c.conv_taps});
  specs.add(name + ".dt_bias", {c.linear.value_heads});
  specs.add_linear(name + ".in_proj_qkv", c.hidden, c.conv_channels());
  specs.add_linear(name + ".in_proj_z", c.hidden, c.linear_values());
  specs.add_linear(name + ".in_proj_b", c.hidden, c.linear.value_heads);
  specs.add_linear(name + ".in_proj_a", c.hidden, c.linear.value_heads);
  specs.add(name + ".norm.weight", {c.linear.value_dim});
  specs.add_linear(name + ".out_proj", c.linear_values(), c.hidden);
}

}  // namespace

TextConfig parse_config(const Json& json, const std::string& where) {
  const Json* inner = json.find("text_config");
  const ConfigReader read(inner != nullptr && inner->object() != nullptr ? *inner : json, where);
  refuse_other_models(read);
  TextConfig config;
  config.vocabulary = read.integer("vocab_size", 1, kMostTokens);
  config.hidden = read.integer("hidden_size", 1, kMostChannels);
  config.intermediate = read.integer("intermediate_size", 1, kMostChannels);
  config.norm_eps = read.number("rms_norm_eps");
  if (config.norm_eps < 0) read.refuse(ErrorKind::kFormat, "\"rms_norm_eps\" is negative");
  config.layers = read_layers(read);
  config.heads = read.integer("num_attention_heads", 1, kMostHeads);
  config.kv_heads = read.integer("num_key_value_heads", 1, kMostHeads);
  config.head_dim = read.integer("head_dim", 1, kMostChannels);
  require_divides(read, "num_key_value_heads", config.kv_heads, "num_attention_heads",
                  config.heads);
  config.attention_bias = read.boolean("attention_bias", false);
  read_rope(read, where, config);
  config.linear = {.key_heads = read.integer("linear_num_key_heads", 1, kMostHeads),
                   .value_heads = read.integer("linear_num_value_heads", 1, kMostHeads),
                   .key_dim = read.integer("linear_key_head_dim", 1, kMostChannels),
                   .value_dim = read.integer("linear_value_head_dim", 1, kMostChannels)};
  require_divides(read, "linear_num_key_heads", config.linear.key_heads, "linear_num_value_heads",
                  config.linear.value_heads);
  config.conv_taps = read.integer("linear_conv_kernel_dim", 1, 64);
  return config;
}

Json config_to_json(const TextConfig& config) {
  const auto text = [](const char* value) { return Json(std::string(value)); };
  Json::Array layers;
  for (const LayerKind kind : config.layers) {
    layers.push_back(
        text(kind == LayerKind::kFullAttention ? "full_attention" : "linear_attention"));
  }
  const double rotary_factor =
      static_cast<double>(config.rotated) / static_cast<double>(config.head_dim);
  return Json(Json::Object{
      {"architectures", Json(Json::Array{text("Qwen3_5TextModel")})},
      {"attention_bias", Json(config.attention_bias)},
      {"head_dim", Json(config.head_dim)},
      {"hidden_act", text("silu")},
      {"hidden_size", Json(config.hidden)},
      {"intermediate_size", Json(config.intermediate)},
      {"layer_types", Json(std::move(layers))},
      {"linear_conv_kernel_dim", Json(config.conv_taps)},
      {"linear_key_head_dim", Json(config.linear.key_dim)},
      {"linear_num_key_heads", Json(config.linear.key_heads)},
      {"linear_num_value_heads", Json(config.linear.value_heads)},
      {"linear_value_head_dim", Json(config.linear.value_dim)},
      {"model_type", text("qwen3_5_text")},
      {"num_attention_heads", Json(config.heads)},
      {"num_hidden_layers", Json(static_cast<std::int64_t>(config.layers.size()))},
      {"num_key_value_heads", Json(config.kv_heads)},
      {"rms_norm_eps", Json(config.norm_eps)},
      {"rope_parameters", Json(Json::Object{{"partial_rotary_factor", Json(rotary_factor)},
                                            {"rope_theta", Json(config.rope_theta)},
                                            {"rope_type", text("default")}})},
      {"vocab_size", Json(config.vocabulary)}});
}

std::vector<TensorSpec> tensors(const TextConfig& config) {
  Specs specs;
  specs.add("embed_tokens.weight", {config.vocabulary, config.hidden});
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const std::string name = "layers." + std::to_string(i);
    if (config.layers[i] == LayerKind::kFullAttention) {
      add_full_attention(specs, config, name + ".self_attn");
    } else {
      add_linear_attention(specs, config, name + ".linear_attn");
    }
    specs.add_linear(name + ".mlp.gate_proj", config.hidden, config.intermediate);
    specs.add_linear(name + ".mlp.up_proj", config.hidden, config.intermediate);
    specs.add_linear(name + ".mlp.down_proj", config.intermediate, config.hidden);
    specs.add(name + ".input_layernorm.weight", {config.hidden});
    specs.add(name + ".post_attention_layernorm.weight", {config.hidden});
  }
  specs.add("norm.weight", {config.hidden});
  return specs.take();
}

Checkpoint without_prefixes(Checkpoint checkpoint) {
  std::map<std::string, CheckpointTensor> renamed;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    std::string_view rest = name;
    const auto starts = [&](auto prefix) { return rest.starts_with(prefix); };
    if (starts("lm_head.") || starts("mtp.") || starts("visual.") || starts("model.visual.")) {
      continue;
    }
    for (const std::string_view prefix : {"model.language_model.", "language_model.", "model."}) {
      if (starts(prefix)) {
        rest.remove_prefix(prefix.size());
        break;
      }
    }
    if (!renamed.emplace(rest, tensor).second) {
      fail(ErrorKind::kFormat, checkpoint.path.string(), ": the tensor ", rest,
           " is there under two prefixes, one of them ", name);
    }
  }
  checkpoint.tensors = std::move(renamed);
  return checkpoint;
}

}  // namespace pantograph::qwen35_text
