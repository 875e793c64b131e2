#include "pipeline/pan2_model.h"

#include "core/check.h"
#include "pipeline/model_folder.h"

namespace pantograph {

Pan2Model open_pan2(const std::filesystem::path& path, const std::vector<LoraFile>& adapters) {
  const ModelFolder folder = open_model_folder(path);
  // The small ones first: what is wrong with them is said soonest.
  const SchedulerConfig scheduler =
      read_scheduler_config(folder.scheduler / "scheduler_config.json");
  Pan2Model model{.text = TextEncoder::open(folder),
                  .dit = pan2_dit::Dit::open(folder.transformer, adapters),
                  .vae = Vae::open(folder.vae),
                  .scheduler = scheduler};
  const pan2_dit::Config& dit = model.dit->config();
  if (model.text->hidden() != dit.text_channels) {
    fail(ErrorKind::kFormat, folder.text_encoder.string(), " gives ", model.text->hidden(),
         " channels, ", folder.transformer.string(), " takes ", dit.text_channels,
         ": they belong to different models");
  }
  if (model.vae.config().latent_channels != dit.out_channels) {
    fail(ErrorKind::kFormat, folder.vae.string(), " has ", model.vae.config().latent_channels,
         " latent channels, ", folder.transformer.string(), " makes ", dit.out_channels,
         ": they belong to different models");
  }
  return model;
}

pan2_dit::LatentSize latent_size(const Pan2Model& model, std::int64_t frames, std::int64_t height,
                                 std::int64_t width) {
  const VaeConfig& vae = model.vae.config();
  return {.frames = (frames - 1) / vae.temporal_factor() + 1,
          .height = height / vae.spatial_factor(),
          .width = width / vae.spatial_factor()};
}

}  // namespace pantograph
