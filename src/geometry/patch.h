// Pixels folded into channels.
#pragma once

#include <cstdint>

namespace pantograph::geometry {

// Channel of a patch of p x p RGB pixels that holds colour k of the pixel at row i, column j:
// the column's offset comes before the row's.
constexpr std::int64_t patch_channel(std::int64_t patch, std::int64_t i, std::int64_t j,
                                     std::int64_t k) {
  return patch * patch * k + patch * j + i;
}

}  // namespace pantograph::geometry
