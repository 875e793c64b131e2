// The folder of a PAN 2 checkpoint: which folders its components lie in.
#pragma once

#include <filesystem>

namespace pantograph {

struct ModelFolder {
  std::filesystem::path transformer, text_encoder, tokenizer, vae, scheduler;
};

// Reads modular_model_index.json or the older model_index.json. Throws Error: kNotFound (the
// folder, the index, or components, which are listed), kUnsupported (another model's pipeline),
// kFormat.
ModelFolder open_model_folder(const std::filesystem::path& folder);

}  // namespace pantograph
