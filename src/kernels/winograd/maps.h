// Tensor maps of what the transforms read and write: of a tile as many channels at a time as a box
// takes, since narrower boxes move less a second. That is 256 or, where two channels count as one
// element of 32 bits, 512.
#pragma once

#include "geometry/winograd_tiles.h"
#include "kernels/hopper/tensor_map.h"

namespace pantograph::kernels {

inline constexpr int kElementsOfBox = 256, kChannelsOfBox = kElementsOfBox;

// Of [components][rows][channels], f16: all components of one row.
inline cudaError_t map_components(CUtensorMap& map, const void* data, std::int64_t components,
                                  std::int64_t rows, std::int64_t channels,
                                  std::int64_t channels_of_element = 1) {
  const std::int64_t sizes[] = {channels / channels_of_element, rows, components};
  const std::uint32_t box[] = {kElementsOfBox, 1, static_cast<std::uint32_t>(components)};
  const DType dtype = channels_of_element == 1 ? DType::kF16 : DType::kI32;
  return make_tensor_map(map, dtype, data, sizes, box, Swizzle::kNone);
}

// Of [frames, height, width, channels], bf16: `side` x `side` pixels of one frame.
inline cudaError_t map_pixels(CUtensorMap& map, const void* data, std::int64_t frames,
                              const geometry::WinogradTiles& tiles, std::int64_t channels,
                              std::int64_t side, std::int64_t channels_of_element = 1) {
  const auto length = static_cast<std::uint32_t>(side);
  const std::int64_t sizes[] = {channels / channels_of_element, tiles.width, tiles.height, frames};
  const std::uint32_t box[] = {kElementsOfBox, length, length, 1};
  const DType dtype = channels_of_element == 1 ? DType::kBF16 : DType::kI32;
  return make_tensor_map(map, dtype, data, sizes, box, Swizzle::kNone);
}

}  // namespace pantograph::kernels
