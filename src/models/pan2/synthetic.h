// A whole PAN 2 checkpoint of seeded random numbers in the real layout.
#pragma once

#include <filesystem>

#include "checkpoint/synthetic_writer.h"

namespace pantograph::pan2 {

enum class Size {
  kTiny,      // 10 MB: 1/32 of the widths, few layers
  kReleased,  // 38 billion numbers: 76 GB in bf16
};

// Writes modular_model_index.json, transformer/, text_encoder/, tokenizer/, vae/ and scheduler/
// into `folder`, all or nothing. The tokenizer is small in either size. Throws Error: as
// prepare_folder, kIo, kCancelled, kUnsupported in a build without the tokenizer's libraries.
void make_checkpoint(const std::filesystem::path& folder, Size size,
                     const SyntheticOptions& options);

}  // namespace pantograph::pan2
