// `pantograph make`: its options. Included by main.cc only, as CLI11 is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "commands.h"
#include "interrupt.h"
#include "options.h"

namespace pantograph::cli {

class MakeVerb {
 public:
  // Parsing puts what is to be done into `action`. Both outlive the parsing.
  void add(CLI::App& app, std::function<void()>& action) {
    CLI::App* verb = app.add_subcommand("make", "Make synthetic checkpoints and latents");
    verb->require_subcommand(1);
    verb->footer(
        "Example:\n"
        "  pantograph make vae --tiny tiny-vae\n"
        "  pantograph make pan2 --tiny tiny-pan2\n"
        "  pantograph make latents --shape 9,20,36 latents.safetensors");

    add_checkpoint(verb, action, "vae", "A VAE", vae_, make_vae);
    pan2_.options.dtype = DType::kBF16;  // the release's
    add_checkpoint(verb, action, "pan2", "A PAN 2", pan2_, make_pan2);
    add_latents(verb, action);
  }

 private:
  void add_checkpoint(CLI::App* verb, std::function<void()>& action, const std::string& name,
                      const std::string& model, MakeCheckpointCommand& command,
                      void (*make)(const MakeCheckpointCommand&)) {
    CLI::App* made = verb->add_subcommand(name, model + " checkpoint with seeded random weights");
    made->add_option("folder", command.folder, "The folder to write, empty or not there")
        ->required();
    made->add_flag("--tiny", command.tiny, "1/32 of the released model's channels");
    add_number(made, "--seed", command.options.seed, 0U, "Another seed, other weights (default 0)");
    add_choice(made, "--dtype", command.options.dtype, kDTypes,
               std::string("f32, bf16 or f16 (default ") + to_string(command.options.dtype) + ")");
    made->footer("Example:\n  pantograph make " + name + " --tiny --dtype bf16 tiny-" + name);
    made->callback([&action, &command, make] {
      action = [&command, make] {
        cancel_on_signal(command.options.cancel);
        make(command);
      };
    });
  }

  void add_latents(CLI::App* verb, std::function<void()>& action) {
    CLI::App* latents = verb->add_subcommand("latents", "Latents with seeded random numbers");
    latents->add_option("file", latents_.file, "The safetensors file to write")->required();
    latents->add_option("--shape", shape_, "T,h,w: latent frames, height and width")
        ->required()
        ->delimiter(',')
        ->expected(3);
    add_number(latents, "--seed", latents_.seed, 0U, "Another seed, other latents (default 0)");
    add_choice(latents, "--dtype", latents_.dtype, kDTypes, "f32, bf16 or f16");
    latents->footer("Example:\n  pantograph make latents --shape 9,20,36 latents.safetensors");
    latents->callback([this, &action] {
      action = [this] {
        latents_.frames = shape_[0];
        latents_.height = shape_[1];
        latents_.width = shape_[2];
        make_latents(latents_);
      };
    });
  }

  MakeCheckpointCommand vae_, pan2_;
  MakeLatentsCommand latents_;
  std::vector<std::int64_t> shape_;
};

}  // namespace pantograph::cli
