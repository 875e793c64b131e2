#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "checkpoint/safetensors.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/tensor_file.h"
#include "core/check.h"
#include "core/text.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigName = "config.json";
constexpr std::string_view kWeightsName = "diffusion_pytorch_model.safetensors";
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
constexpr std::string_view kExpected =
    "expected a diffusers folder (config.json and diffusion_pytorch_model.safetensors), or one "
    ".safetensors or .pth file";

using Names = std::vector<std::string>;

Names list_folder(const fs::path& folder) {
  Names names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    fail(ErrorKind::kIo, folder.string(), ": the folder cannot be listed: ", error.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// For a message: the first few names, and how many more.
std::string summary(const Names& names) {
  constexpr std::size_t kShown = 8;
  if (names.empty()) return "nothing";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() <= kShown ? text : join(text, " and ", names.size() - kShown, " more");
}

Json read_json(const fs::path& path) {
  const MappedFile file(path);
  const auto* const text = reinterpret_cast<const char*>(file.bytes().data());
  Json json = parse_json({text, file.bytes().size()}, path.string());
  if (json.object() == nullptr) fail(ErrorKind::kFormat, path.string(), ": not a JSON object");
  return json;
}

// The one file of `folder` that says where the weights are: a safetensors file or an index of
// several. Both of the standard name, or several of other names, would leave it to chance.
std::string choose_weights(const fs::path& folder) {
  const Names names = list_folder(folder);
  const auto choose = [&names](const auto& fits) {
    Names chosen;
    std::copy_if(names.begin(), names.end(), std::back_inserter(chosen), fits);
    return chosen;
  };
  Names candidates = choose([](const std::string& name) {
    return name == kWeightsName || name == join(kWeightsName, ".index.json");
  });
  if (candidates.empty()) {
    candidates = choose([](const std::string& name) { return name.ends_with(kIndexSuffix); });
  }
  if (candidates.empty()) {
    candidates = choose([](const std::string& name) { return name.ends_with(".safetensors"); });
  }
  if (candidates.empty()) {
    fail(ErrorKind::kNotFound, folder.string(), ": no safetensors file; found ", summary(names),
         "; ", kExpected);
  }
  if (candidates.size() > 1) {
    fail(ErrorKind::kFormat, folder.string(), ": ", summary(candidates),
         " could each be the weights; leave one of them");
  }
  return candidates.front();
}

void add_file(Checkpoint& checkpoint, const SafetensorsFile& file) {
  for (const auto& [name, entry] : file.header().tensors) {
    const auto [present, added] =
        checkpoint.tensors.try_emplace(name, CheckpointTensor{file.view(name), file.file()});
    if (!added) {
      fail(ErrorKind::kFormat, "the tensor ", Json(name).dump(), " stands in both ",
           present->second.file->path().string(), " and ", file.path().string());
    }
  }
  checkpoint.files.push_back(file.path());
}

void add_shards(Checkpoint& checkpoint, const fs::path& index) {
  const fs::path folder = index.parent_path();
  const ShardIndex shards = parse_shard_index(read_json(index), index.string());
  Names missing;
  for (const auto& [shard, tensors] : shards) {
    std::error_code error;
    if (!fs::exists(folder / shard, error)) missing.push_back(shard);
  }
  if (!missing.empty()) {
    fail(ErrorKind::kNotFound, index.string(), ": ", missing.size(), " of ", shards.size(),
         " shards are missing: ", summary(missing));
  }
  for (const auto& [shard, tensors] : shards) {
    const SafetensorsFile file = SafetensorsFile::open(folder / shard);
    for (const std::string& tensor : tensors) {
      if (!file.header().tensors.contains(tensor)) {
        fail(ErrorKind::kFormat, index.string(), ": the tensor ", Json(tensor).dump(),
             " should be in ", shard, ", which has none of that name");
      }
    }
    add_file(checkpoint, file);
  }
}

void open_diffusers_folder(Checkpoint& checkpoint, const fs::path& folder) {
  checkpoint.form = "diffusers folder";
  checkpoint.config_file = folder / kConfigName;
  checkpoint.config = read_json(checkpoint.config_file);
  const fs::path weights = folder / choose_weights(folder);
  if (weights.string().ends_with(kIndexSuffix)) {
    add_shards(checkpoint, weights);
  } else {
    add_file(checkpoint, SafetensorsFile::open(weights));
  }
}

// The container in which training scripts keep the weights, beside other things.
std::string_view container_of_weights(const TensorFile& file) {
  for (const std::string_view prefix : {"state_dict.", "model."}) {
    const auto first = file.tensors.lower_bound(std::string(prefix));
    if (first != file.tensors.end() && first->first.starts_with(prefix)) return prefix;
  }
  return "";
}

void open_single_file(Checkpoint& checkpoint) {
  const std::string where = checkpoint.path.string();
  const TensorFile file = open_tensor_file(checkpoint.path);
  const std::string_view form = file.form;
  if (form == "npy") {
    fail(ErrorKind::kUnsupported, where, ": a .npy file is one array, no checkpoint; ", kExpected);
  }
  checkpoint.form = form == "torch" ? "torch file" : "safetensors file";
  const std::string_view container = form == "torch" ? container_of_weights(file) : "";
  for (const auto& [name, view] : file.tensors) {
    if (!name.starts_with(container)) continue;
    if (!view.is_dense()) {
      fail(ErrorKind::kUnsupported, where, ": the tensor ", Json(name).dump(), " ",
           shape_text(view.sizes()),
           " is not stored row after row; save it again after .contiguous()");
    }
    checkpoint.tensors.emplace(name.substr(container.size()), CheckpointTensor{view, file.file});
  }
  const auto config = file.metadata.find(kConfigMetadata);
  if (config != file.metadata.end()) {
    checkpoint.config = parse_json(config->second, where + ": the config in its metadata");
  }
  checkpoint.files.push_back(checkpoint.path);
}

}  // namespace

Checkpoint open_checkpoint(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error && status.type() != fs::file_type::not_found) {
    fail(ErrorKind::kIo, path.string(), ": cannot be reached: ", error.message());
  }
  if (!fs::exists(status)) {
    fail(ErrorKind::kNotFound, path.string(), ": no such file or folder; ", kExpected);
  }
  Checkpoint checkpoint;
  checkpoint.path = path;
  if (!fs::is_directory(status)) {
    open_single_file(checkpoint);
    return checkpoint;
  }
  // A whole pipeline's folder keeps the VAE in a subfolder.
  for (const fs::path& folder : {path / "vae", path}) {
    if (fs::exists(folder / kConfigName, error)) {
      open_diffusers_folder(checkpoint, folder);
      return checkpoint;
    }
  }
  fail(ErrorKind::kNotFound, path.string(), ": no config.json; found ", summary(list_folder(path)),
       "; ", kExpected);
}

}  // namespace pantograph
