// One VAE checkpoint written again in another form: what `pantograph convert` does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "pantograph/execution_context.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

enum class CheckpointForm {
  kDiffusers,    // a folder: config.json and diffusion_pytorch_model.safetensors
  kSafetensors,  // one file, diffusers' names
  kNative,       // one file, Wan's own names
};

struct ConvertJob {
  std::filesystem::path input;  // see wan_vae::open_vae_checkpoint
  std::filesystem::path output;
  CheckpointForm form = CheckpointForm::kDiffusers;
  std::optional<DType> dtype = {};  // as they are, unless given: f32, bf16 or f16
  CancelToken cancel{};             // looked at between tensors
};

struct ConvertSummary {
  std::int64_t tensors = 0, bytes = 0;
};

// The single files keep the config in their metadata. What was written is opened again and every
// tensor compared before it appears under its name.
// Throws Error as opening and writing do, and kInvalidArgument where a value is too large for f16
// or the output is the input.
ConvertSummary run_convert(const ConvertJob& job);

}  // namespace pantograph
