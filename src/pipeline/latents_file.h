// Latents as people store them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

// One file's latents as clips [C, T, h, w]; the views live as long as this object.
class LatentsFile {
 public:
  // Takes the tensor `name`, or, where none is named, "latents" or the only one of 4 or 5
  // dimensions. Throws Error: kNotFound (listing what is there), kFormat, kInvalidArgument (a shape
  // or type that cannot be latents).
  static LatentsFile open(const std::filesystem::path& path,
                          const std::optional<std::string>& name);

  [[nodiscard]] const std::string& tensor() const { return tensor_; }
  // One for each video: [C, T, h, w] is one clip, [B, C, T, h, w] is B of them.
  [[nodiscard]] const std::vector<TensorView>& clips() const { return clips_; }

 private:
  explicit LatentsFile(SafetensorsFile file) : file_(std::move(file)) {}
  SafetensorsFile file_;
  std::string tensor_;
  std::vector<TensorView> clips_;
};

}  // namespace pantograph
