#include <cstdio>

#include "commands.h"
#include "models/pan2/synthetic.h"
#include "models/wan_vae/config.h"
#include "models/wan_vae/synthetic.h"

namespace pantograph::cli {

void make_vae(const MakeCheckpointCommand& command) {
  write_synthetic_checkpoint(
      command.folder,
      wan_vae::synthetic_checkpoint(command.tiny ? wan_vae::tiny_config()
                                                 : wan_vae::released_config()),
      command.options);
  std::printf("%s: a %ssynthetic Wan2.2 VAE (%s)\n", command.folder.c_str(),
              command.tiny ? "tiny " : "", to_string(command.options.dtype));
}

void make_pan2(const MakeCheckpointCommand& command) {
  pan2::make_checkpoint(command.folder, command.tiny ? pan2::Size::kTiny : pan2::Size::kReleased,
                        command.options);
  std::printf("%s: a %ssynthetic PAN 2 (%s)\n", command.folder.c_str(), command.tiny ? "tiny " : "",
              to_string(command.options.dtype));
}

void make_latents(const MakeLatentsCommand& command) {
  wan_vae::make_latents(command.file, command.frames, command.height, command.width, command.seed,
                        command.dtype);
  std::printf("%s: latents [48, %lld, %lld, %lld] (%s); decode them with --latent-scale raw\n",
              command.file.c_str(), static_cast<long long>(command.frames),
              static_cast<long long>(command.height), static_cast<long long>(command.width),
              to_string(command.dtype));
}

}  // namespace pantograph::cli
