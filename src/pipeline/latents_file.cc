#include "pipeline/latents_file.h"

#include "core/check.h"
#include "core/text.h"

namespace pantograph {
namespace {

bool may_be_latents(const TensorEntry& entry) {
  return (entry.shape.size() == 4 || entry.shape.size() == 5) &&
         (entry.dtype == DType::kF32 || entry.dtype == DType::kBF16 || entry.dtype == DType::kF16);
}

std::string contents(const SafetensorsHeader& header) {
  std::string text;
  for (const auto& [name, entry] : header.tensors) {
    text += join(text.empty() ? "" : ", ", name, " ", to_string(entry.dtype), " ",
                 shape_text(entry.shape));
  }
  return text.empty() ? "no tensors" : text;
}

std::string choose(const SafetensorsFile& file, const std::optional<std::string>& name) {
  const SafetensorsHeader& header = file.header();
  const std::string where = file.path().string();
  if (name) {
    if (header.tensors.contains(*name)) return *name;
    fail(ErrorKind::kNotFound, where, ": no tensor \"", *name, "\"; it holds ", contents(header));
  }
  const auto named = header.tensors.find("latents");
  if (named != header.tensors.end() && may_be_latents(named->second)) return named->first;
  std::string chosen;
  for (const auto& [candidate, entry] : header.tensors) {
    if (!may_be_latents(entry)) continue;
    if (!chosen.empty()) {
      fail(ErrorKind::kInvalidArgument, where, ": several tensors may be the latents (",
           contents(header), "); name one with --tensor");
    }
    chosen = candidate;
  }
  if (chosen.empty()) {
    fail(ErrorKind::kNotFound, where,
         ": no tensor could be latents [C, T, h, w] or [B, C, T, h, w] of "
         "f32, bf16 or f16; it holds ",
         contents(header));
  }
  return chosen;
}

}  // namespace

LatentsFile LatentsFile::open(const std::filesystem::path& path,
                              const std::optional<std::string>& name) {
  LatentsFile latents(SafetensorsFile::open(path));
  latents.tensor_ = choose(latents.file_, name);
  const TensorView whole = latents.file_.view(latents.tensor_);
  if (!may_be_latents(latents.file_.header().tensors.at(latents.tensor_))) {
    fail(ErrorKind::kInvalidArgument, path.string(), ": \"", latents.tensor_, "\" is ",
         to_string(whole.dtype), " ", shape_text(whole.sizes()),
         "; latents are [C, T, h, w] or [B, C, T, h, w] of f32, bf16 or f16");
  }
  if (whole.rank == 4) {
    latents.clips_.push_back(whole);
  } else {
    for (std::int64_t b = 0; b < whole.shape[0]; ++b) {
      const TensorView clip = whole.slice(0, b, 1);
      latents.clips_.push_back(
          TensorView::dense(clip.data, clip.dtype, clip.sizes().subspan(1), clip.device));
    }
  }
  if (whole.elements() == 0) {
    fail(ErrorKind::kInvalidArgument, path.string(), ": \"", latents.tensor_,
         "\" is empty: ", shape_text(whole.sizes()));
  }
  return latents;
}

}  // namespace pantograph
