// A model's tensors by name, from whatever files hold them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "checkpoint/mapped_file.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

struct CheckpointTensor {
  TensorView view;                         // into the mapped file
  std::shared_ptr<const MappedFile> file;  // keeps the view valid; release_pages() when packed
};

struct Checkpoint {
  std::filesystem::path path;         // as the user named it
  const char* form = "";              // "diffusers folder", "safetensors file", "torch file"
  std::filesystem::path config_file;  // empty where the config is the weights' own or missing
  Json config;                        // null where the form has none
  std::vector<std::filesystem::path> files;
  std::map<std::string, CheckpointTensor> tensors;
};

// Opens a diffusers folder: config.json with either one "diffusion_pytorch_model.safetensors" (or
// the only *.safetensors there) or shards listed by "*.safetensors.index.json". Of a whole
// pipeline's folder, its vae/ subfolder.
// Or one file: safetensors, whose metadata may hold a config, or torch's .pt or .pth, whose tensors
// may be in a "state_dict" or "model".
// Throws Error: kNotFound (nothing there, a missing shard), kFormat (a broken file; an index that
// names a tensor its shard lacks, or a tensor that stands in two shards; more than one file that
// could be the weights), kUnsupported (a torch file of more than tensors; tensors that are not
// contiguous).
Checkpoint open_checkpoint(const std::filesystem::path& path);

// The key of a safetensors file's metadata under which `pantograph convert` keeps the config.
inline constexpr const char* kConfigMetadata = "config";

}  // namespace pantograph
