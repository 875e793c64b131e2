#include "models/wan_vae/checkpoint.h"

#include <utility>
#include <vector>

#include "core/check.h"
#include "core/log.h"
#include "core/text.h"
#include "models/wan_vae/config.h"
#include "models/wan_vae/native_names.h"

namespace pantograph::wan_vae {
namespace {

constexpr std::int64_t kWan21Channels = 16;

void use_diffusers_names(Checkpoint& checkpoint) {
  if (!checkpoint.tensors.contains("decoder.conv1.weight")) return;  // Wan's name for conv_in
  std::map<std::string, CheckpointTensor> renamed;
  for (auto& [name, tensor] : checkpoint.tensors) {
    if (!renamed.emplace(diffusers_name(name), tensor).second) {
      fail(ErrorKind::kFormat, checkpoint.path.string(), ": the tensor ", Json(name).dump(),
           " is there under diffusers' name too");
    }
  }
  checkpoint.tensors = std::move(renamed);
}

// Reads sizes off the tensors of one checkpoint.
class Shapes {
 public:
  explicit Shapes(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  [[nodiscard]] bool has(const std::string& name) const {
    return checkpoint_.tensors.contains(name);
  }
  [[nodiscard]] std::int64_t size(const std::string& name, int dimension) const {
    const auto found = checkpoint_.tensors.find(name);
    if (found == checkpoint_.tensors.end()) {
      fail(ErrorKind::kFormat, checkpoint_.path.string(), ": no tensor ", name,
           ", so not the Wan2.2 VAE; expected a file like Wan2.2_VAE.pth, or a diffusers folder");
    }
    const TensorView& view = found->second.view;
    if (view.rank <= dimension || view.elements() == 0) {
      fail(ErrorKind::kFormat, checkpoint_.path.string(), ": ", name, " has the shape ",
           shape_text(view.sizes()), ", which is none of the Wan2.2 VAE's");
    }
    return view.shape[static_cast<std::size_t>(dimension)];
  }

 private:
  const Checkpoint& checkpoint_;
};

void refuse_wan21(const Checkpoint& checkpoint) {
  const Shapes shapes(checkpoint);
  if (!shapes.has("post_quant_conv.weight")) return;
  if (shapes.size("post_quant_conv.weight", 0) == kWan21Channels) {
    fail(ErrorKind::kUnsupported, checkpoint.path.string(),
         ": this is the Wan2.1 VAE (16 latent channels); expected the Wan2.2 VAE (48 latent "
         "channels): Wan2.2_VAE.pth, or the vae folder of Wan2.2-TI2V-5B-Diffusers");
  }
}

// The whole number whose square `square` is, or 0.
std::int64_t exact_root(std::int64_t square) {
  std::int64_t root = 1;
  while (root * root < square) ++root;
  return root * root == square ? root : 0;
}

}  // namespace

Json infer_config(const Checkpoint& checkpoint) {
  const auto refuse = [&checkpoint](const std::string& what) {
    fail(ErrorKind::kFormat, checkpoint.path.string(), ": ", what,
         ", so its configuration cannot be told from its tensors");
  };
  constexpr std::int64_t kMost = 64;  // levels or blocks: more are no VAE of this family
  const Shapes shapes(checkpoint);
  const auto block = [](std::size_t level, std::int64_t index) {
    return "decoder.up_blocks." + std::to_string(level) + ".resnets." + std::to_string(index) +
           ".conv1.weight";
  };
  VaeConfig config = released_config();
  if (shapes.size("post_quant_conv.weight", 0) != config.latent_channels) {
    refuse(join("it has ", shapes.size("post_quant_conv.weight", 0), " latent channels, not ",
                config.latent_channels));
  }
  std::vector<std::int64_t> widths;  // from low to high resolution
  while (shapes.has(block(widths.size(), 0)) && widths.size() < kMost) {
    widths.push_back(shapes.size(block(widths.size(), 0), 0));
  }
  if (widths.empty()) refuse("it has no tensor " + block(0, 0));
  config.decoder_base_channels = widths.back();
  config.channel_multipliers.clear();
  config.temporal_downsample.clear();
  for (std::size_t level = widths.size(); level-- > 0;) {
    if (widths[level] % config.decoder_base_channels != 0) {
      refuse(join("a level of ", widths[level], " channels is no multiple of the last of ",
                  widths.back()));
    }
    config.channel_multipliers.push_back(widths[level] / config.decoder_base_channels);
    if (level + 1 == widths.size()) continue;  // the last has no resampler
    config.temporal_downsample.push_back(
        shapes.has("decoder.up_blocks." + std::to_string(level) + ".upsampler.time_conv.weight"));
  }
  config.residual_blocks = -1;  // the decoder has one more
  while (shapes.has(block(0, config.residual_blocks + 1)) && config.residual_blocks < kMost) {
    ++config.residual_blocks;
  }
  const std::int64_t patched = shapes.size("decoder.conv_out.weight", 0);
  config.patch_size = patched % 3 == 0 && patched < 3 * kMost * kMost ? exact_root(patched / 3) : 0;
  if (config.patch_size == 0) {
    refuse(join(patched, " output channels are no RGB patch"));
  }
  Json::Object object = *config_to_json(config).object();
  for (auto& [key, value] : object) {
    if (key == "base_dim" && shapes.has("encoder.conv_in.weight")) {
      value = Json(shapes.size("encoder.conv_in.weight", 0));
    }
  }
  return Json(std::move(object));
}

std::string config_place(const Checkpoint& checkpoint) {
  return checkpoint.config_file.empty() ? checkpoint.path.string()
                                        : checkpoint.config_file.string();
}

Checkpoint open_vae_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint = open_checkpoint(path);
  use_diffusers_names(checkpoint);
  refuse_wan21(checkpoint);
  if (checkpoint.config.is_null()) {
    checkpoint.config = infer_config(checkpoint);
    // With other widths it is another model, whose mean and std nobody can know.
    const bool released = checkpoint.config.dump() == config_to_json(released_config()).dump();
    log(released ? LogLevel::kInfo : LogLevel::kWarning, path.string(),
        ": no config.json; took its sizes from the tensors and latents_mean and latents_std from "
        "the released Wan2.2 VAE",
        released ? "" : ", from which it differs: its normalized latents may need others");
  }
  return checkpoint;
}

}  // namespace pantograph::wan_vae
