// Byte-pair encoding over bytes: the pair of tokens that was merged first in training is merged
// first, until no pair is left that ever was.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pantograph::qwen35_text {

struct BytePairs {
  struct Merge {
    std::int32_t rank = 0, result = 0;
  };

  std::array<std::int32_t, 256> bytes{};                // the token of each byte
  std::unordered_map<std::uint64_t, Merge> merges;      // by pair_key
  std::unordered_map<std::string, std::int32_t> whole;  // pieces that are taken as they are

  static std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
  }

  // Appends the tokens of one piece.
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const;
};

}  // namespace pantograph::qwen35_text
