// Latents cut into patches, a token each.
#pragma once

#include <cstdint>

namespace pantograph::geometry {

// Latents [C, frames, height, width] in patches of t x h x w. Tokens are in the order (t, y, x);
// the columns of a token in the order (channel, t, h, w), as a Conv3d's weight has them.
struct LatentPatches {
  std::int64_t frames = 0, height = 0, width = 0;               // of the latents
  std::int64_t patch_t = 1, patch_height = 1, patch_width = 1;  // of a patch

  [[nodiscard]] constexpr bool fits() const {
    return frames >= 1 && height >= 1 && width >= 1 && frames % patch_t == 0 &&
           height % patch_height == 0 && width % patch_width == 0;
  }
  [[nodiscard]] constexpr std::int64_t plane() const { return frames * height * width; }
  [[nodiscard]] constexpr std::int64_t grid_t() const { return frames / patch_t; }
  [[nodiscard]] constexpr std::int64_t grid_height() const { return height / patch_height; }
  [[nodiscard]] constexpr std::int64_t grid_width() const { return width / patch_width; }
  [[nodiscard]] constexpr std::int64_t tokens() const {
    return grid_t() * grid_height() * grid_width();
  }
  [[nodiscard]] constexpr std::int64_t patch_elements() const {
    return patch_t * patch_height * patch_width;
  }

  // Where element `column` of `token` lies in the latents; both in range.
  [[nodiscard]] constexpr std::int64_t offset(std::int64_t token, std::int64_t column) const {
    const std::int64_t x = token % grid_width() * patch_width + column % patch_width;
    const std::int64_t y =
        token / grid_width() % grid_height() * patch_height + column / patch_width % patch_height;
    const std::int64_t t = token / (grid_width() * grid_height()) * patch_t +
                           column / (patch_width * patch_height) % patch_t;
    const std::int64_t channel = column / patch_elements();
    return ((channel * frames + t) * height + y) * width + x;
  }
};

}  // namespace pantograph::geometry
