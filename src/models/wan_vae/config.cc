#include "models/wan_vae/config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "checkpoint/config_reader.h"

namespace pantograph {

std::int64_t VaeConfig::spatial_factor() const {
  return patch_size << (channel_multipliers.size() - 1);
}

std::int64_t VaeConfig::temporal_factor() const {
  return std::int64_t{1} << std::count(temporal_downsample.begin(), temporal_downsample.end(),
                                       true);
}

std::int64_t VaeConfig::video_frames(std::int64_t latent_frames) const {
  return latent_frames <= 0 ? 0 : temporal_factor() * (latent_frames - 1) + 1;
}

namespace wan_vae {
namespace {

// Sizes beyond these are mistakes or attacks, and products of them stay far from overflow.
constexpr std::int64_t kMostChannels = 1 << 16;
constexpr std::size_t kMostLevels = 8;
constexpr std::int64_t kMostBlocks = 64;

void refuse_other_models(const Json& json, const ConfigReader& read) {
  const Json* name = json.find("_class_name");
  if (name != nullptr && (name->string() == nullptr || *name->string() != "AutoencoderKLWan")) {
    read.refuse(ErrorKind::kUnsupported, "this is a ", name->dump(),
                ", not the Wan2.2 VAE (AutoencoderKLWan)");
  }
  const Json* residual = json.find("is_residual");
  const bool is_residual =
      residual != nullptr && residual->boolean() != nullptr && *residual->boolean();
  const Json* z_dim = json.find("z_dim");
  const bool is_16 = z_dim != nullptr && z_dim->integer() != nullptr && *z_dim->integer() == 16;
  if (!is_residual) {
    read.refuse(ErrorKind::kUnsupported,
                is_16 || z_dim == nullptr
                    ? "this is the Wan2.1 VAE (16 latent channels, is_residual false)"
                    : "\"is_residual\" is not true",
                "; expected the Wan2.2 VAE (48 latent channels, is_residual true), which is in the "
                "vae folder of Wan2.2-TI2V-5B");
  }
  read.only({"_class_name",
             "_diffusers_version",
             "_name_or_path",
             "z_dim",
             "base_dim",
             "decoder_base_dim",
             "dim_mult",
             "num_res_blocks",
             "attn_scales",
             "temperal_downsample",
             "dropout",
             "latents_mean",
             "latents_std",
             "is_residual",
             "in_channels",
             "out_channels",
             "patch_size",
             "scale_factor_temporal",
             "scale_factor_spatial",
             "clip_output",
             "model_type",
             "architectures",
             "torch_dtype",
             "transformers_version"});
}

void require_consistent(const VaeConfig& config, const Json& json, const ConfigReader& read) {
  const std::size_t levels = config.channel_multipliers.size();
  if (levels < 1 || levels > kMostLevels) {
    read.refuse(ErrorKind::kFormat, "\"dim_mult\" must hold 1 to ", kMostLevels, " numbers");
  }
  if (config.temporal_downsample.size() != levels - 1) {
    read.refuse(ErrorKind::kFormat,
                "\"temperal_downsample\" must hold one value fewer than \"dim_mult\"");
  }
  const auto channels = static_cast<std::size_t>(config.latent_channels);
  if (config.latents_mean.size() != channels || config.latents_std.size() != channels) {
    read.refuse(ErrorKind::kFormat, "\"latents_mean\" and \"latents_std\" must hold ", channels,
                " numbers each, one for each latent channel");
  }
  for (std::size_t c = 0; c < channels; ++c) {
    // They are worked with in f32.
    constexpr double kMost = std::numeric_limits<float>::max();
    if (!(std::abs(config.latents_mean[c]) <= kMost)) {
      read.refuse(ErrorKind::kFormat, "\"latents_mean\" holds ", config.latents_mean[c]);
    }
    if (!(config.latents_std[c] > 0 && config.latents_std[c] <= kMost)) {
      read.refuse(ErrorKind::kFormat, "\"latents_std\" holds ", config.latents_std[c],
                  "; expected positive numbers");
    }
  }
  if (read.integer("out_channels", 1, kMostChannels) != 3 * config.patch_size * config.patch_size) {
    read.refuse(ErrorKind::kFormat, "\"out_channels\" must be 3 x patch_size x patch_size = ",
                3 * config.patch_size * config.patch_size);
  }
  for (const auto& [key, expected] :
       {std::pair<std::string_view, std::int64_t>{"scale_factor_spatial", config.spatial_factor()},
        {"scale_factor_temporal", config.temporal_factor()}}) {
    if (json.find(key) != nullptr && read.integer(key, 1, kMostChannels) != expected) {
      read.refuse(ErrorKind::kFormat, "\"", key, "\" is ", json.find(key)->dump(),
                  ", but the levels it describes give ", expected);
    }
  }
  const Json* attention = json.find("attn_scales");
  if (attention != nullptr && (attention->array() == nullptr || !attention->array()->empty())) {
    read.refuse(ErrorKind::kUnsupported,
                "\"attn_scales\" must be empty: attention outside the middle "
                "block is not supported");
  }
  static_cast<void>(read.boolean("clip_output", true));  // frames are clipped either way
  for (const Level& level : decoder_levels(config)) {
    const std::int64_t copies = level.out_channels * (level.temporal_upsample ? 8 : 4);
    if (level.upsample && copies % level.in_channels != 0) {
      read.refuse(ErrorKind::kFormat, "\"dim_mult\": a level from ", level.in_channels, " to ",
                  level.out_channels, " channels has no shortcut");
    }
  }
}

void add_convolution(std::vector<TensorSpec>& tensors, const std::string& name, std::int64_t out,
                     std::int64_t in, const std::vector<std::int64_t>& kernel) {
  std::vector<std::int64_t> shape = {out, in};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  tensors.push_back({name + ".weight", std::move(shape)});
  tensors.push_back({name + ".bias", {out}});
}

void add_residual_block(std::vector<TensorSpec>& tensors, const std::string& name, std::int64_t in,
                        std::int64_t out) {
  tensors.push_back({name + ".norm1.gamma", {in, 1, 1, 1}});
  add_convolution(tensors, name + ".conv1", out, in, {3, 3, 3});
  tensors.push_back({name + ".norm2.gamma", {out, 1, 1, 1}});
  add_convolution(tensors, name + ".conv2", out, out, {3, 3, 3});
  if (in != out) add_convolution(tensors, name + ".conv_shortcut", out, in, {1, 1, 1});
}

void add_mid_block(std::vector<TensorSpec>& tensors, const std::string& name,
                   std::int64_t channels) {
  add_residual_block(tensors, name + ".resnets.0", channels, channels);
  tensors.push_back({name + ".attentions.0.norm.gamma", {channels, 1, 1}});
  add_convolution(tensors, name + ".attentions.0.to_qkv", 3 * channels, channels, {1, 1});
  add_convolution(tensors, name + ".attentions.0.proj", channels, channels, {1, 1});
  add_residual_block(tensors, name + ".resnets.1", channels, channels);
}

}  // namespace

VaeConfig parse_config(const Json& json, const std::string& where) {
  const ConfigReader read(json, where);
  refuse_other_models(json, read);
  VaeConfig config;
  config.latent_channels = read.integer("z_dim", 1, kMostChannels);
  if (json.find("base_dim") != nullptr) {  // the decode does not need it
    config.encoder_base_channels = read.integer("base_dim", 1, kMostChannels);
  }
  config.decoder_base_channels = read.integer("decoder_base_dim", 1, kMostChannels);
  config.channel_multipliers =
      read.integers("dim_mult", 1, kMostChannels / config.decoder_base_channels);
  config.residual_blocks = read.integer("num_res_blocks", 1, kMostBlocks);
  config.temporal_downsample = read.booleans("temperal_downsample");
  config.patch_size = read.integer("patch_size", 1, 64);
  config.latents_mean = read.numbers("latents_mean");
  config.latents_std = read.numbers("latents_std");
  require_consistent(config, json, read);
  return config;
}

std::vector<Level> decoder_levels(const VaeConfig& config) {
  std::vector<Level> levels;
  const std::size_t count = config.channel_multipliers.size();
  std::int64_t in = config.decoder_base_channels * config.channel_multipliers.back();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t out =
        config.decoder_base_channels * config.channel_multipliers[count - 1 - i];
    const bool upsample = i + 1 < count;
    levels.push_back({.in_channels = in,
                      .out_channels = out,
                      .upsample = upsample,
                      .temporal_upsample = upsample && config.temporal_downsample[count - 2 - i]});
    in = out;
  }
  return levels;
}

std::vector<DownLevel> encoder_levels(const VaeConfig& config) {
  std::vector<DownLevel> levels;
  const std::size_t count = config.channel_multipliers.size();
  std::int64_t in = config.encoder_base_channels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t out = config.encoder_base_channels * config.channel_multipliers[i];
    const bool downsample = i + 1 < count;
    levels.push_back({.in_channels = in,
                      .out_channels = out,
                      .downsample = downsample,
                      .temporal_downsample = downsample && config.temporal_downsample[i]});
    in = out;
  }
  return levels;
}

std::vector<TensorSpec> decoder_tensors(const VaeConfig& config) {
  std::vector<TensorSpec> tensors;
  const std::int64_t latent = config.latent_channels;
  const std::vector<Level> levels = decoder_levels(config);
  const std::int64_t wide = levels.front().in_channels;
  add_convolution(tensors, "post_quant_conv", latent, latent, {1, 1, 1});
  add_convolution(tensors, "decoder.conv_in", wide, latent, {3, 3, 3});
  add_mid_block(tensors, "decoder.mid_block", wide);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string block = "decoder.up_blocks." + std::to_string(i);
    for (std::int64_t j = 0; j <= config.residual_blocks; ++j) {
      add_residual_block(tensors, block + ".resnets." + std::to_string(j),
                         j == 0 ? levels[i].in_channels : levels[i].out_channels,
                         levels[i].out_channels);
    }
    const std::int64_t out = levels[i].out_channels;
    if (levels[i].upsample)
      add_convolution(tensors, block + ".upsampler.resample.1", out, out, {3, 3});
    if (levels[i].temporal_upsample) {
      add_convolution(tensors, block + ".upsampler.time_conv", 2 * out, out, {3, 1, 1});
    }
  }
  const std::int64_t narrow = levels.back().out_channels;
  tensors.push_back({"decoder.norm_out.gamma", {narrow, 1, 1, 1}});
  add_convolution(tensors, "decoder.conv_out", 3 * config.patch_size * config.patch_size, narrow,
                  {3, 3, 3});
  return tensors;
}

std::vector<TensorSpec> encoder_tensors(const VaeConfig& config) {
  std::vector<TensorSpec> tensors;
  const std::vector<DownLevel> levels = encoder_levels(config);
  const std::int64_t moments = 2 * config.latent_channels;  // mean and log-variance
  add_convolution(tensors, "encoder.conv_in", config.encoder_base_channels,
                  3 * config.patch_size * config.patch_size, {3, 3, 3});
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string block = "encoder.down_blocks." + std::to_string(i);
    const std::int64_t out = levels[i].out_channels;
    for (std::int64_t j = 0; j < config.residual_blocks; ++j) {
      add_residual_block(tensors, block + ".resnets." + std::to_string(j),
                         j == 0 ? levels[i].in_channels : out, out);
    }
    if (levels[i].downsample) {
      add_convolution(tensors, block + ".downsampler.resample.1", out, out, {3, 3});
    }
    if (levels[i].temporal_downsample) {
      add_convolution(tensors, block + ".downsampler.time_conv", out, out, {3, 1, 1});
    }
  }
  const std::int64_t wide = levels.back().out_channels;
  add_mid_block(tensors, "encoder.mid_block", wide);
  tensors.push_back({"encoder.norm_out.gamma", {wide, 1, 1, 1}});
  add_convolution(tensors, "encoder.conv_out", moments, wide, {3, 3, 3});
  add_convolution(tensors, "quant_conv", moments, moments, {1, 1, 1});
  return tensors;
}

std::vector<std::string> check_tensors(const VaeConfig& config, const Checkpoint& checkpoint) {
  const std::vector<TensorSpec> specs = decoder_tensors(config);
  std::vector<std::string> problems = tensor_problems(specs, checkpoint);
  std::set<std::string> expected;
  for (const TensorSpec& spec : specs) expected.insert(spec.name);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const bool encoder = name.starts_with("encoder.") || name.starts_with("quant_conv.");
    if (!encoder && !expected.contains(name))
      problems.push_back(Json(name).dump() + " is not expected");
  }
  return problems;
}

std::vector<std::string> check_encoder_tensors(const VaeConfig& config,
                                               const Checkpoint& checkpoint) {
  return tensor_problems(encoder_tensors(config), checkpoint);
}

VaeConfig released_config() {
  return {.latent_channels = 48,
          .encoder_base_channels = 160,
          .decoder_base_channels = 256,
          .channel_multipliers = {1, 2, 4, 4},
          .residual_blocks = 2,
          .temporal_downsample = {false, true, true},
          .patch_size = 2,
          .latents_mean = {-0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174,  0.1838,  0.1557,
                           -0.1382, 0.0542,  0.2813,  0.0891,  0.1570,  -0.0098, 0.0375,  -0.1825,
                           -0.2246, -0.1207, -0.0698, 0.5109,  0.2665,  -0.2108, -0.2158, 0.2502,
                           -0.2055, -0.0322, 0.1109,  0.1567,  -0.0729, 0.0899,  -0.2799, -0.1230,
                           -0.0313, -0.1649, 0.0117,  0.0723,  -0.2839, -0.2083, -0.0520, 0.3748,
                           0.0152,  0.1957,  0.1433,  -0.2944, 0.3573,  -0.0548, -0.1681, -0.0667},
          .latents_std = {0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.4990, 0.4818, 0.5013,
                          0.8158, 1.0344, 0.5894, 1.0901, 0.6885, 0.6165, 0.8454, 0.4978,
                          0.5759, 0.3523, 0.7135, 0.6804, 0.5833, 1.4146, 0.8986, 0.5659,
                          0.7069, 0.5338, 0.4889, 0.4917, 0.4069, 0.4999, 0.6866, 0.4093,
                          0.5709, 0.6065, 0.6415, 0.4944, 0.5726, 1.2042, 0.5458, 1.6887,
                          0.3971, 1.0600, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, 0.7744}};
}

namespace {
template <typename Values>
Json list(const Values& values) {
  Json::Array array;
  for (const auto value : values) {
    using Value = std::remove_cvref_t<typename Values::value_type>;
    array.push_back(Json(static_cast<Value>(value)));
  }
  return Json(std::move(array));
}
}  // namespace

Json config_to_json(const VaeConfig& config) {
  Json::Object object;
  const auto add = [&](const char* key, Json value) { object.emplace_back(key, std::move(value)); };
  add("_class_name", Json(std::string("AutoencoderKLWan")));
  add("attn_scales", Json(Json::Array{}));
  add("base_dim", Json(config.encoder_base_channels));
  add("decoder_base_dim", Json(config.decoder_base_channels));
  add("dim_mult", list(config.channel_multipliers));
  add("dropout", Json(0.0));
  const std::int64_t patched = 3 * config.patch_size * config.patch_size;
  add("in_channels", Json(patched));
  add("is_residual", Json(true));
  add("latents_mean", list(config.latents_mean));
  add("latents_std", list(config.latents_std));
  add("num_res_blocks", Json(config.residual_blocks));
  add("out_channels", Json(patched));
  add("patch_size", Json(config.patch_size));
  add("scale_factor_spatial", Json(config.spatial_factor()));
  add("scale_factor_temporal", Json(config.temporal_factor()));
  add("temperal_downsample", list(config.temporal_downsample));
  add("z_dim", Json(config.latent_channels));
  return Json(std::move(object));
}

}  // namespace wan_vae
}  // namespace pantograph
