#include <cstdio>
#include <map>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "commands.h"
#include "core/memory.h"
#include "core/text.h"
#include "models/wan_vae/config.h"
#include "pantograph/error.h"
#include "pipeline/latent_statistics.h"
#include "pipeline/latents_file.h"

namespace pantograph::cli {
namespace {

void print_tensor(const std::string& name, const TensorView& view) {
  std::printf("  %-60s %-5s %s\n", name.c_str(), to_string(view.dtype),
              shape_text(view.sizes()).c_str());
}

void print_problems(const std::vector<std::string>& problems) {
  std::printf("problems: %s\n", problems.empty() ? "none" : "");
  for (const std::string& problem : problems) std::printf("  %s\n", problem.c_str());
}

// A folder: config.json and its weights, and whether this program can decode with them.
void inspect_checkpoint(const std::filesystem::path& path) {
  const Checkpoint checkpoint = open_checkpoint(path);
  std::size_t bytes = 0;
  std::map<std::string, int> dtypes;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    bytes += tensor.view.bytes();
    ++dtypes[to_string(tensor.view.dtype)];
  }
  std::string types;
  for (const auto& [type, count] : dtypes) types += " " + std::to_string(count) + " " + type;
  std::vector<std::string> problems;
  std::string kind = "a checkpoint";
  try {
    const VaeConfig config =
        wan_vae::parse_config(checkpoint.config, (checkpoint.path / "config.json").string());
    kind = "a Wan2.2 VAE checkpoint (diffusers folder)";
    problems = wan_vae::check_tensors(config, checkpoint);
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
  std::printf("%s: %s\nfiles:\n", checkpoint.path.c_str(), kind.c_str());
  for (const auto& file : checkpoint.files) std::printf("  %s\n", file.c_str());
  std::printf("config: %s\n", checkpoint.config.dump().c_str());
  std::printf("tensors: %zu, %s:%s\n", checkpoint.tensors.size(), format_bytes(bytes).c_str(),
              types.c_str());
  for (const auto& [name, tensor] : checkpoint.tensors) print_tensor(name, tensor.view);
  print_problems(problems);
}

void inspect_latents(const LatentsFile& latents) {
  const VaeConfig released = wan_vae::released_config();
  for (std::size_t i = 0; i < latents.clips().size(); ++i) {
    const TensorView& clip = latents.clips()[i];
    const LatentStatistics statistics = measure_latents(clip);
    std::printf("latents \"%s\", clip %zu %s: %lld frames of %lld x %lld when decoded\n",
                latents.tensor().c_str(), i, shape_text(clip.sizes()).c_str(),
                static_cast<long long>(released.video_frames(clip.shape[1])),
                static_cast<long long>(clip.shape[3] * released.spatial_factor()),
                static_cast<long long>(clip.shape[2] * released.spatial_factor()));
    std::printf("  scale: %s\n", suggest_scale(statistics, released).c_str());
    if (statistics.not_finite > 0) {
      std::printf("  problem: %lld elements are NaN or infinite\n",
                  static_cast<long long>(statistics.not_finite));
    }
    std::printf("  channel      mean       std\n");
    for (std::size_t c = 0; c < statistics.mean.size(); ++c) {
      std::printf("  %7zu %9.4f %9.4f\n", c, statistics.mean[c], statistics.deviation[c]);
    }
  }
}

void inspect_file(const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  std::printf("%s: a safetensors file of %zu tensors\n", path.c_str(),
              file.header().tensors.size());
  for (const auto& [key, value] : file.header().metadata) {
    std::printf("  metadata %s: %s\n", key.c_str(), value.c_str());
  }
  for (const auto& [name, entry] : file.header().tensors) print_tensor(name, file.view(name));
  // Latents are told by their shape; a file of weights has none that could be.
  for (const auto& [name, entry] : file.header().tensors) {
    const std::size_t rank = entry.shape.size();
    const bool latents = (rank == 4 && entry.shape[0] == 48) || (rank == 5 && entry.shape[1] == 48);
    if (latents && !name.ends_with(".weight")) inspect_latents(LatentsFile::open(path, name));
  }
}

}  // namespace

void inspect(const InspectCommand& command) {
  if (std::filesystem::is_directory(command.path)) {
    inspect_checkpoint(command.path);
  } else {
    inspect_file(command.path);
  }
}

}  // namespace pantograph::cli
