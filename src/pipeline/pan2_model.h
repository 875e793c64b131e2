// A PAN 2 checkpoint, opened: every component, checked to fit the others.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "models/pan2_dit/dit.h"
#include "pantograph/vae.h"
#include "pipeline/scheduler.h"
#include "pipeline/text_encoder.h"

namespace pantograph {

// Weights stay in the mapped files until they are first used.
struct Pan2Model {
  std::optional<TextEncoder> text;  // empty once it was released
  std::shared_ptr<const pan2_dit::Dit> dit;
  Vae vae;
  SchedulerConfig scheduler;
};

// Opens the folder and merges the adapters into the DiT. Throws Error as the components do:
// kNotFound, kFormat, kUnsupported; kFormat where two of them do not fit each other.
Pan2Model open_pan2(const std::filesystem::path& folder,
                    const std::vector<LoraFile>& adapters = {});

// A video's size in latents.
pan2_dit::LatentSize latent_size(const Pan2Model& model, std::int64_t frames, std::int64_t height,
                                 std::int64_t width);

}  // namespace pantograph
