// Any file of named tensors, told by its first bytes and not by its name.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "checkpoint/mapped_file.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

struct TensorFile {
  const char* form = "";  // "safetensors", "torch", "npy"
  std::shared_ptr<const MappedFile> file;
  std::map<std::string, TensorView> tensors;    // valid as long as `file`; strides as stored
  std::map<std::string, std::string> metadata;  // safetensors only
};

// The one array of a .npy file is called "array", the one tensor of a .pt file "tensor".
// Throws Error as the readers of the three forms do.
TensorFile open_tensor_file(const std::filesystem::path& path);
TensorFile read_tensor_file(std::shared_ptr<const MappedFile> file);

}  // namespace pantograph
