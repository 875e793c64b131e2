// A small tokenizer in the real layout, for checkpoints that are made up.
#pragma once

#include <cstdint>
#include <filesystem>

#include "checkpoint/json.h"

namespace pantograph::qwen35_text {

// tokenizer.json: 256 bytes, a few merges, Qwen's special tokens.
Json synthetic_tokenizer_json();

// Writes that and tokenizer_config.json
// with a chat template in Qwen3.5's structure into `folder`, which is made. Returns the number of
// ids, the least vocab_size of a text tower that goes with it.
std::int32_t make_tokenizer(const std::filesystem::path& folder);

}  // namespace pantograph::qwen35_text
