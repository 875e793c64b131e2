// config.json of AutoencoderKLWan, and the tensors a decoder of that configuration has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/json.h"
#include "checkpoint/tensor_spec.h"
#include "pantograph/vae.h"

namespace pantograph::wan_vae {

// The released Wan2.2-TI2V-5B VAE; the synthetic checkpoints are this or a narrow copy of it.
VaeConfig released_config();
Json config_to_json(const VaeConfig& config);

// Throws Error naming `where` and the key: kFormat for a missing, mistyped or contradictory one,
// kUnsupported for the Wan2.1 VAE and for a key this version does not know.
VaeConfig parse_config(const Json& json, const std::string& where);

// Everything the decode needs, under diffusers' names: "post_quant_conv.*" and "decoder.*".
std::vector<TensorSpec> decoder_tensors(const VaeConfig& config);

// Everything the encode needs: "encoder.*" and "quant_conv.*".
std::vector<TensorSpec> encoder_tensors(const VaeConfig& config);

// Problems of a checkpoint's tensors, one line each: those of the decoder that are missing,
// mis-shaped or not floating point, and those that belong neither to the decoder nor to the
// encoder. Empty: all is well.
std::vector<std::string> check_tensors(const VaeConfig& config, const Checkpoint& checkpoint);
// The same for the encoder's, which many files leave out.
std::vector<std::string> check_encoder_tensors(const VaeConfig& config,
                                               const Checkpoint& checkpoint);

// One resolution of the decoder, from low to high.
struct Level {
  std::int64_t in_channels = 0, out_channels = 0;
  bool upsample = false;           // x2 in height and width
  bool temporal_upsample = false;  // and in time
};
std::vector<Level> decoder_levels(const VaeConfig& config);

// One resolution of the encoder, from high to low.
struct DownLevel {
  std::int64_t in_channels = 0, out_channels = 0;
  bool downsample = false;
  bool temporal_downsample = false;
};
std::vector<DownLevel> encoder_levels(const VaeConfig& config);

}  // namespace pantograph::wan_vae
