// Latents as people store them: safetensors, .npy, torch's .pt, ComfyUI's .latent.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/tensor_file.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

// The name that stands for standard input.
inline constexpr const char* kStandardInput = "-";

// One file's latents as clips [C, T, h, w]; the views live as long as this object.
class LatentsFile {
 public:
  // Takes the tensor `name`, or, where none is named, "latents", ComfyUI's "latent_tensor" or the
  // only one of 4 or 5 dimensions. "-" reads standard input to its end.
  // Throws Error: kNotFound (listing what is there), kFormat, kInvalidArgument (a shape or type
  // that cannot be latents), kUnsupported (a .latent of ComfyUI's first format, whose numbers are
  // scaled).
  static LatentsFile open(const std::filesystem::path& path,
                          const std::optional<std::string>& name);

  [[nodiscard]] const TensorFile& file() const { return file_; }
  [[nodiscard]] const std::string& tensor() const { return tensor_; }
  // One for each video: [C, T, h, w] is one clip, [B, C, T, h, w] is B of them.
  [[nodiscard]] const std::vector<TensorView>& clips() const { return clips_; }

 private:
  explicit LatentsFile(TensorFile file) : file_(std::move(file)) {}
  TensorFile file_;
  std::string tensor_;
  std::vector<TensorView> clips_;
};

}  // namespace pantograph
