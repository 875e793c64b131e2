// Tensor maps of what the transforms read and write: 256 channels of a tile at a time, as many as a
// box takes. Narrower boxes move less a second.
#pragma once

#include "geometry/winograd_tiles.h"
#include "kernels/hopper/tensor_map.h"

namespace pantograph::kernels {

inline constexpr int kChannelsOfBox = 256;

// Of [components][rows][channels], f16: all components of one row.
inline cudaError_t map_components(CUtensorMap& map, const void* data, std::int64_t components,
                                  std::int64_t rows, std::int64_t channels) {
  const std::int64_t sizes[] = {channels, rows, components};
  const std::uint32_t box[] = {kChannelsOfBox, 1, static_cast<std::uint32_t>(components)};
  return make_tensor_map(map, DType::kF16, data, sizes, box, Swizzle::kNone);
}

// Of [frames, height, width, channels], bf16: `side` x `side` pixels of one frame.
inline cudaError_t map_pixels(CUtensorMap& map, const void* data, std::int64_t frames,
                              const geometry::WinogradTiles& tiles, std::int64_t channels,
                              std::int64_t side) {
  const auto length = static_cast<std::uint32_t>(side);
  const std::int64_t sizes[] = {channels, tiles.width, tiles.height, frames};
  const std::uint32_t box[] = {kChannelsOfBox, length, length, 1};
  return make_tensor_map(map, DType::kBF16, data, sizes, box, Swizzle::kNone);
}

}  // namespace pantograph::kernels
