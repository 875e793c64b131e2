// The VAE's checkpoint in every form people have, made alike: diffusers' names and a config.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/checkpoint.h"

namespace pantograph::wan_vae {

// Opens a diffusers folder, or one safetensors or torch file with diffusers' names or Wan's own. A
// single file has no config: it is inferred from the tensors' shapes, with the released model's
// latents_mean and latents_std, and said in the log.
// Throws Error as open_checkpoint does, and kUnsupported for the Wan2.1 VAE and for files that are
// no VAE of this family. The tensors are not yet checked against the config: see check_tensors.
Checkpoint open_vae_checkpoint(const std::filesystem::path& path);

// What a message about the config names.
std::string config_place(const Checkpoint& checkpoint);

// The config that tensors with diffusers' names tell, as config.json would have it.
// Throws Error(kFormat) where they do not describe a decoder of this family.
Json infer_config(const Checkpoint& checkpoint);

}  // namespace pantograph::wan_vae
