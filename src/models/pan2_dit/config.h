// config.json of PAN 2's DiT, and the tensors that a DiT of that configuration has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "checkpoint/tensor_spec.h"
#include "geometry/rope.h"

namespace pantograph::pan2_dit {

inline constexpr std::int64_t kTimestepChannels = 256;  // of the sinusoid

struct Config {
  std::array<std::int64_t, 3> patch{};  // patch_size: t, h, w
  std::int64_t in_channels = 0;         // noisy and conditioning latents and the mask: 2 out + 1
  std::int64_t out_channels = 0;        // of the latents
  std::int64_t heads = 0, head_dim = 0;
  std::int64_t layers = 0, refiner_layers = 0;
  double mlp_ratio = 0, context_mlp_ratio = 0, refiner_mlp_ratio = 0;
  std::int64_t text_channels = 0;  // text_embed_dim
  geometry::Rope rope;

  [[nodiscard]] std::int64_t hidden() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t patch_elements() const { return patch[0] * patch[1] * patch[2]; }
  // Channels between the two layers of an MLP.
  [[nodiscard]] std::int64_t inner(double ratio) const {
    return static_cast<std::int64_t>(static_cast<double>(hidden()) * ratio);
  }
};

// The released 29 B model.
Config released_config();
Json config_to_json(const Config& config);

// Throws Error naming `where` and the key: kFormat for a missing, mistyped or contradictory one,
// kUnsupported for another model and for a key this version does not know.
Config parse_config(const Json& json, const std::string& where);

// Every tensor, under diffusers' names.
std::vector<TensorSpec> tensors(const Config& config);

}  // namespace pantograph::pan2_dit
