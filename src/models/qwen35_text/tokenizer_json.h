// What a tokenizer.json says, reduced to what byte-level BPE needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "models/qwen35_text/byte_pair.h"
#include "models/qwen35_text/regex.h"

namespace pantograph::qwen35_text {

// A text that is one token wherever it stands.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool normalized = false;  // looked for after normalisation, not before
};

struct TokenizerSpec {
  bool nfc = false;
  std::vector<Regex> splits;  // one after the other
  BytePairs pairs;
  std::vector<AddedToken> added;
  std::int32_t vocabulary = 0;  // one more than the largest id
};

// Byte-level BPE only: Split (regular expression, isolated) and ByteLevel before it, NFC or nothing
// before that, merges in either notation. Throws Error that begins with `where`: kFormat,
// kUnsupported with the name of what is not.
TokenizerSpec parse_tokenizer(const Json& json, const std::string& where);

// The character that stands for a byte in the vocabulary of a byte-level tokenizer.
char32_t byte_character(unsigned char byte);

}  // namespace pantograph::qwen35_text
