// Text to token ids, as the tokenizer.json of a checkpoint says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "models/qwen35_text/tokenizer_json.h"

namespace pantograph::qwen35_text {

class Tokenizer {
 public:
  // Throws Error: kNotFound, kIo, kFormat, kUnsupported.
  static Tokenizer open(const std::filesystem::path& folder);
  explicit Tokenizer(TokenizerSpec spec);

  // Special tokens that the text spells out become special tokens. Throws Error(kInvalidArgument)
  // for a text that is not UTF-8.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const;

  // One more than the largest id.
  [[nodiscard]] std::int32_t vocabulary() const { return spec_.vocabulary; }

 private:
  void encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const;

  TokenizerSpec spec_;
};

}  // namespace pantograph::qwen35_text
