#include <algorithm>
#include <cstdio>
#include <map>

#include "checkpoint/tensor_file.h"
#include "commands.h"
#include "core/memory.h"
#include "core/text.h"
#include "models/wan_vae/checkpoint.h"
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

// A VAE's weights and config, and whether this program can decode with them.
void inspect_checkpoint(const std::filesystem::path& path) {
  const Checkpoint checkpoint = wan_vae::open_vae_checkpoint(path);
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
        wan_vae::parse_config(checkpoint.config, wan_vae::config_place(checkpoint));
    kind = std::string("a Wan2.2 VAE checkpoint (") + checkpoint.form + ")";
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

bool may_be_latents(const std::string& name, const TensorView& view) {
  const bool shaped =
      (view.rank == 4 && view.shape[0] == 48) || (view.rank == 5 && view.shape[1] == 48);
  return shaped && !name.ends_with(".weight");
}

void inspect_file(const std::filesystem::path& path) {
  const TensorFile file = open_tensor_file(path);
  const bool vae = std::any_of(file.tensors.begin(), file.tensors.end(), [](const auto& tensor) {
    return tensor.first.ends_with("decoder.conv_in.bias") ||
           tensor.first.ends_with("decoder.conv1.bias");
  });
  if (vae) return inspect_checkpoint(path);
  std::printf("%s: a %s file of %zu tensors\n", path.c_str(), file.form, file.tensors.size());
  for (const auto& [key, value] : file.metadata) {
    std::printf("  metadata %s: %s\n", key.c_str(), value.c_str());
  }
  for (const auto& [name, view] : file.tensors) print_tensor(name, view);
  for (const auto& [name, view] : file.tensors) {
    if (may_be_latents(name, view)) inspect_latents(LatentsFile::open(path, name));
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
