// Seeded random text towers in the real layout: the released weights are not needed to run one.
#pragma once

#include <cstdint>

#include "checkpoint/synthetic_writer.h"
#include "models/qwen35_text/config.h"

namespace pantograph::qwen35_text {

// The released 8 B tower: 32 layers, of which every fourth is full attention.
TextConfig released_config();

// 1/32 as wide, with 8 layers. `vocabulary` is the number of ids of the tokenizer beside it.
TextConfig tiny_config(std::int64_t vocabulary);

// Hidden states stay near unit size, decays reach from forgetting at once to remembering for
// hundreds of tokens, and no weight has a neutral value.
SyntheticCheckpoint synthetic_checkpoint(const TextConfig& config);

}  // namespace pantograph::qwen35_text
