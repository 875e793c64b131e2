#include "models/pan2_dit/config.h"

#include "checkpoint/config_reader.h"
#include "core/text.h"
#include "ops/token_ops/token_ops.h"

namespace pantograph::pan2_dit {
namespace {

// Sizes beyond these are mistakes or attacks, and products of them stay far from overflow.
constexpr std::int64_t kMostChannels = 1 << 16;
constexpr std::int64_t kMostLayers = 1024;
constexpr std::int64_t kMostPatch = 64;
constexpr double kMostRatio = 64;

void require_consistent(const Config& config, const ConfigReader& read) {
  if (config.in_channels != 2 * config.out_channels + 1) {
    read.refuse(ErrorKind::kFormat, "\"in_channels\" is ", config.in_channels, ", expected ",
                2 * config.out_channels + 1,
                ": noisy and conditioning latents of \"out_channels\" each, and a mask");
  }
  if (config.hidden() > ops::kMaxNormChannels) {
    read.refuse(ErrorKind::kUnsupported, "\"num_attention_heads\" x \"attention_head_dim\" is ",
                config.hidden(), ", at most ", ops::kMaxNormChannels, " are supported");
  }
  if (config.head_dim % 2 != 0) {
    read.refuse(ErrorKind::kFormat, "\"attention_head_dim\" is ", config.head_dim,
                "; it must be even, since positions rotate channels in pairs");
  }
  std::int64_t rotated = 0;
  for (const std::int64_t channels : config.rope.axis_channels) {
    if (channels % 2 != 0) {
      read.refuse(ErrorKind::kFormat, "\"rope_axes_dim\" is ",
                  shape_text(config.rope.axis_channels),
                  "; each must be even, since positions rotate channels in pairs");
    }
    rotated += channels;
  }
  if (rotated != config.head_dim) {
    read.refuse(ErrorKind::kFormat, "\"rope_axes_dim\" ", shape_text(config.rope.axis_channels),
                " adds up to ", rotated, ", not to \"attention_head_dim\" ", config.head_dim);
  }
  if (config.rope.theta <= 0 || config.rope.temporal_scale <= 0) {
    read.refuse(ErrorKind::kFormat, "\"rope_theta\" and \"rope_temporal_scale\" must be positive");
  }
}

double ratio(const ConfigReader& read, std::string_view key, std::int64_t hidden) {
  const double value = read.number(key);
  if (value <= 0 || value > kMostRatio || static_cast<double>(hidden) * value < 1) {
    read.refuse(ErrorKind::kFormat, "\"", key, "\" must be a positive number up to ", kMostRatio,
                ", not ", value);
  }
  return value;
}

class Specs {
 public:
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    specs.push_back({name, std::move(shape)});
  }
  void add_matrix(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in});
  }
  void add_linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add_matrix(name, in, out);
    add(name + ".bias", {out});
  }
  std::vector<TensorSpec> specs;
};

void add_refiner(Specs& specs, const Config& config, const std::string& name) {
  const std::int64_t hidden = config.hidden(), inner = config.inner(config.refiner_mlp_ratio);
  specs.add(name + ".norm1.weight", {hidden});
  for (const char* projection : {"to_q", "to_k", "to_v", "to_out.0"}) {
    specs.add_matrix(name + ".attn." + projection, hidden, hidden);
  }
  for (const char* norm : {"norm_q", "norm_k"}) {
    specs.add(name + ".attn." + norm + ".weight", {config.head_dim});
  }
  specs.add(name + ".norm2.weight", {hidden});
  specs.add_matrix(name + ".ff.net.0.proj", hidden, 2 * inner);
  specs.add_matrix(name + ".ff.net.2", inner, hidden);
}

void add_block(Specs& specs, const Config& config, const std::string& name) {
  const std::int64_t hidden = config.hidden();
  specs.add_linear(name + ".norm1.linear", hidden, 6 * hidden);
  specs.add(name + ".scale_shift_table_context", {6 * hidden});
  for (const char* projection : {"to_q", "to_k", "to_v", "add_q_proj", "add_k_proj", "add_v_proj",
                                 "to_out.0", "to_add_out"}) {
    specs.add_linear(name + ".attn." + projection, hidden, hidden);
  }
  for (const char* norm : {"norm_q", "norm_k", "norm_added_q", "norm_added_k"}) {
    specs.add(name + ".attn." + norm + ".weight", {config.head_dim});
  }
  specs.add_linear(name + ".ff.net.0.proj", hidden, config.inner(config.mlp_ratio));
  specs.add_linear(name + ".ff.net.2", config.inner(config.mlp_ratio), hidden);
  specs.add_linear(name + ".ff_context.net.0.proj", hidden, config.inner(config.context_mlp_ratio));
  specs.add_linear(name + ".ff_context.net.2", config.inner(config.context_mlp_ratio), hidden);
}

}  // namespace

Config released_config() {
  return {.patch = {1, 2, 2},
          .in_channels = 97,
          .out_channels = 48,
          .heads = 32,
          .head_dim = 128,
          .layers = 44,
          .refiner_layers = 4,
          .mlp_ratio = 8,
          .context_mlp_ratio = 4,
          .refiner_mlp_ratio = 4,
          .text_channels = 4096,
          .rope = {.axis_channels = {16, 56, 56}, .theta = 256, .temporal_scale = 2.0 / 3}};
}

Json config_to_json(const Config& config) {
  const auto list = [](const std::array<std::int64_t, 3>& values) {
    Json::Array elements;
    for (const std::int64_t value : values) elements.emplace_back(value);
    return Json(elements);
  };
  return Json(Json::Object{{"_class_name", Json(std::string("PAN2Transformer3DModel"))},
                           {"patch_size", list(config.patch)},
                           {"in_channels", Json(config.in_channels)},
                           {"out_channels", Json(config.out_channels)},
                           {"num_attention_heads", Json(config.heads)},
                           {"attention_head_dim", Json(config.head_dim)},
                           {"num_layers", Json(config.layers)},
                           {"num_refiner_layers", Json(config.refiner_layers)},
                           {"mlp_ratio", Json(config.mlp_ratio)},
                           {"context_mlp_ratio", Json(config.context_mlp_ratio)},
                           {"refiner_mlp_ratio", Json(config.refiner_mlp_ratio)},
                           {"text_embed_dim", Json(config.text_channels)},
                           {"rope_axes_dim", list(config.rope.axis_channels)},
                           {"rope_theta", Json(config.rope.theta)},
                           {"rope_temporal_scale", Json(config.rope.temporal_scale)}});
}

Config parse_config(const Json& json, const std::string& where) {
  const ConfigReader read(json, where);
  const Json* name = read.find("_class_name");
  if (name != nullptr &&
      (name->string() == nullptr || *name->string() != "PAN2Transformer3DModel")) {
    read.refuse(ErrorKind::kUnsupported, "this is a ", name->dump(),
                ", not PAN 2's DiT (PAN2Transformer3DModel)");
  }
  read.only({"_class_name", "_diffusers_version", "_name_or_path", "patch_size", "in_channels",
             "out_channels", "num_attention_heads", "attention_head_dim", "num_layers",
             "num_refiner_layers", "mlp_ratio", "context_mlp_ratio", "refiner_mlp_ratio",
             "text_embed_dim", "rope_axes_dim", "rope_theta", "rope_temporal_scale", "torch_dtype",
             "dtype"});
  Config config;
  const auto three = [&](std::string_view key, std::int64_t least, std::int64_t most) {
    const std::vector<std::int64_t> values = read.integers(key, 3, least, most);
    return std::array<std::int64_t, 3>{values[0], values[1], values[2]};
  };
  config.patch = three("patch_size", 1, kMostPatch);
  config.in_channels = read.integer("in_channels", 1, kMostChannels);
  config.out_channels = read.integer("out_channels", 1, kMostChannels);
  config.heads = read.integer("num_attention_heads", 1, kMostChannels);
  config.head_dim = read.integer("attention_head_dim", 1, ops::kMaxHeadDim);
  config.layers = read.integer("num_layers", 1, kMostLayers);
  config.refiner_layers = read.integer("num_refiner_layers", 0, kMostLayers);
  config.text_channels = read.integer("text_embed_dim", 1, kMostChannels);
  config.rope.axis_channels = three("rope_axes_dim", 0, ops::kMaxHeadDim);
  config.rope.theta = read.number("rope_theta");
  config.rope.temporal_scale = read.number("rope_temporal_scale");
  config.mlp_ratio = ratio(read, "mlp_ratio", config.hidden());
  config.context_mlp_ratio = ratio(read, "context_mlp_ratio", config.hidden());
  config.refiner_mlp_ratio = ratio(read, "refiner_mlp_ratio", config.hidden());
  require_consistent(config, read);
  return config;
}

std::vector<TensorSpec> tensors(const Config& config) {
  const std::int64_t hidden = config.hidden();
  Specs specs;
  specs.add("x_embedder.weight",
            {hidden, config.in_channels, config.patch[0], config.patch[1], config.patch[2]});
  specs.add("x_embedder.bias", {hidden});
  specs.add_linear("time_embedder.linear_1", kTimestepChannels, hidden);
  specs.add_linear("time_embedder.linear_2", hidden, hidden);
  specs.add("context_embedder.0.weight", {config.text_channels});
  specs.add_linear("context_embedder.1", config.text_channels, hidden);
  for (std::int64_t i = 0; i < config.refiner_layers; ++i) {
    add_refiner(specs, config, "context_refiner." + std::to_string(i));
  }
  specs.add("context_type_embedding", {hidden});
  for (std::int64_t i = 0; i < config.layers; ++i) {
    add_block(specs, config, "transformer_blocks." + std::to_string(i));
  }
  specs.add_linear("norm_out.linear", hidden, 2 * hidden);
  specs.add_linear("proj_out", hidden, config.out_channels * config.patch_elements());
  return std::move(specs.specs);
}

}  // namespace pantograph::pan2_dit
