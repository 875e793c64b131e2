// LoRA files: low-rank updates of a model's weights, under diffusers' and peft's names.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "weights/weight.h"

namespace pantograph {

struct LoraFile {
  std::filesystem::path path;
  double scale = 1;
};

// Updates by the name of the weight they change ("....weight").
using LoraUpdates = std::map<std::string, std::shared_ptr<const LowRankUpdate>>;

// Reads an adapter for `checkpoint`. A module MODULE has MODULE.lora_A.weight [rank, in] and
// MODULE.lora_B.weight [out, rank] (also lora_A.default, lora_down and lora_up, lora.down and
// lora.up), MODULE being a weight's name without ".weight" behind none or some of the prefixes
// base_model.model., transformer. and diffusion_model.; W becomes W + scale * alpha / rank * B A.
// alpha is MODULE.alpha, else what the file's metadata says, else the rank.
// Throws Error: kInvalidArgument (scale), kFormat (an adapter of another model, listing what it
// wanted; half a pair; shapes), kUnsupported (other kinds of adapters).
LoraUpdates read_lora(const LoraFile& file, const Checkpoint& checkpoint);

}  // namespace pantograph
