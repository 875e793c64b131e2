#include "bench/decode_bench.h"
#include "models/wan_vae/config.h"

namespace pantograph::bench {
namespace {

struct Resolution {
  std::int64_t frames, height, width;
  [[nodiscard]] double positions() const {
    return static_cast<double>(frames) * static_cast<double>(height) * static_cast<double>(width);
  }
};

}  // namespace

double decode_flops(const VaeConfig& config, std::int64_t latent_frames, std::int64_t height,
                    std::int64_t width) {
  // Resolution of each level's residual blocks, and one more: the last level's again.
  std::vector<Resolution> levels = {{latent_frames, height, width}};
  for (const wan_vae::Level& level : wan_vae::decoder_levels(config)) {
    Resolution next = levels.back();
    if (level.upsample) {
      next.height *= 2;
      next.width *= 2;
    }
    if (level.temporal_upsample) next.frames = 2 * next.frames - 1;
    levels.push_back(next);
  }
  const std::string blocks = "decoder.up_blocks.";
  double flops = 0;
  for (const TensorSpec& spec : wan_vae::decoder_tensors(config)) {
    if (!spec.name.ends_with(".weight")) continue;
    std::size_t level = 0;
    if (spec.name.starts_with(blocks)) level = std::stoul(spec.name.substr(blocks.size()));
    if (spec.name == "decoder.conv_out.weight") level = levels.size() - 1;
    Resolution at = levels[level];
    if (spec.name.find("upsampler.resample") != std::string::npos) at = levels[level + 1];
    if (spec.name.find("time_conv") != std::string::npos) --at.frames;  // never sees frame 0
    double weights = 1;
    for (const std::int64_t size : spec.shape) weights *= static_cast<double>(size);
    flops += 2 * weights * at.positions();
  }
  const auto queries = static_cast<double>(height * width);
  const auto channels =
      static_cast<double>(config.decoder_base_channels * config.channel_multipliers.back());
  return flops + 4 * static_cast<double>(latent_frames) * queries * queries * channels;
}

}  // namespace pantograph::bench
