#include "pipeline/latents_file.h"

#include <unistd.h>

#include <algorithm>

#include "core/check.h"
#include "core/text.h"

namespace pantograph {
namespace {

constexpr const char* kComfyTensor = "latent_tensor";
constexpr const char* kComfyMarker = "latent_format_version_0";

bool may_be_latents(const TensorView& view) {
  return (view.rank == 4 || view.rank == 5) &&
         (view.dtype == DType::kF32 || view.dtype == DType::kBF16 || view.dtype == DType::kF16);
}

std::string contents(const TensorFile& file) {
  constexpr std::size_t kListed = 8;  // a checkpoint holds hundreds
  std::string text;
  std::size_t count = 0;
  for (const auto& [name, view] : file.tensors) {
    if (++count > kListed) return join(text, " and ", file.tensors.size() - kListed, " more");
    text += join(text.empty() ? "" : ", ", name, " ", to_string(view.dtype), " ",
                 shape_text(view.sizes()));
  }
  return text.empty() ? "no tensors" : text;
}

std::string choose(const TensorFile& file, const std::string& where,
                   const std::optional<std::string>& name) {
  if (name) {
    if (file.tensors.contains(*name)) return *name;
    fail(ErrorKind::kNotFound, where, ": no tensor \"", *name, "\"; it holds ", contents(file));
  }
  for (const char* usual : {"latents", kComfyTensor}) {
    const auto found = file.tensors.find(usual);
    if (found == file.tensors.end() || !may_be_latents(found->second)) continue;
    // ComfyUI takes a file without the marker for one of its first format, and so divides by the
    // 0.18215 of Stable Diffusion's VAE. None of Wan2.2's is that old.
    if (usual == std::string_view(kComfyTensor) && !file.tensors.contains(kComfyMarker)) {
      fail(ErrorKind::kUnsupported, where, ": \"", kComfyTensor, "\" without \"", kComfyMarker,
           "\", so in ComfyUI's first format, scaled by 0.18215; where its numbers are not, say so "
           "with --tensor ",
           kComfyTensor);
    }
    return found->first;
  }
  std::string chosen;
  for (const auto& [candidate, view] : file.tensors) {
    if (!may_be_latents(view)) continue;
    if (!chosen.empty()) {
      fail(ErrorKind::kInvalidArgument, where, ": several tensors may be the latents (",
           contents(file), "); name one with --tensor");
    }
    chosen = candidate;
  }
  if (chosen.empty()) {
    fail(ErrorKind::kNotFound, where,
         ": no tensor could be latents [C, T, h, w] or [B, C, T, h, w] of "
         "f32, bf16 or f16; it holds ",
         contents(file));
  }
  return chosen;
}

// Entry `index` of the first dimension, without that dimension.
TensorView entry_of(const TensorView& batch, std::int64_t index) {
  TensorView entry = batch.slice(0, index, 1);
  std::copy(entry.shape.begin() + 1, entry.shape.end(), entry.shape.begin());
  std::copy(entry.strides.begin() + 1, entry.strides.end(), entry.strides.begin());
  --entry.rank;
  return entry;
}

}  // namespace

LatentsFile LatentsFile::open(const std::filesystem::path& path,
                              const std::optional<std::string>& name) {
  const bool piped = path == kStandardInput;
  const std::string where = piped ? "standard input" : path.string();
  LatentsFile latents(piped ? read_tensor_file(MappedFile::from_stream(STDIN_FILENO, where.c_str()))
                            : open_tensor_file(path));
  latents.tensor_ = choose(latents.file_, where, name);
  const TensorView& whole = latents.file_.tensors.at(latents.tensor_);
  if (!may_be_latents(whole)) {
    fail(ErrorKind::kInvalidArgument, where, ": \"", latents.tensor_, "\" is ",
         to_string(whole.dtype), " ", shape_text(whole.sizes()),
         "; latents are [C, T, h, w] or [B, C, T, h, w] of f32, bf16 or f16");
  }
  if (whole.elements() == 0) {
    fail(ErrorKind::kInvalidArgument, where, ": \"", latents.tensor_,
         "\" is empty: ", shape_text(whole.sizes()));
  }
  if (whole.rank == 4) {
    latents.clips_.push_back(whole);
  } else {
    for (std::int64_t b = 0; b < whole.shape[0]; ++b) latents.clips_.push_back(entry_of(whole, b));
  }
  return latents;
}

}  // namespace pantograph
