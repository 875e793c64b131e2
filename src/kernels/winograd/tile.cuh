// What both transforms do to a tile: a thread for two channels.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstring>

#include "geometry/winograd_tiles.h"
#include "kernels/hopper/bulk_copy.cuh"

namespace pantograph::kernels {

// The tile of a row of components: rows are [frame][tile].
struct Tiling {
  std::int32_t size, per_frame, columns, first_row;

  __device__ PixelsAt pixels(std::int32_t row, std::int32_t channel) const {
    const std::int32_t tile = row % per_frame;
    return {channel, tile % columns * size, (first_row + tile / columns) * size, row / per_frame};
  }
};

inline Tiling tiling(const geometry::WinogradTiles& tiles) {
  return {static_cast<std::int32_t>(tiles.size), static_cast<std::int32_t>(tiles.per_frame()),
          static_cast<std::int32_t>(tiles.columns()), static_cast<std::int32_t>(tiles.first_row)};
}

// Two neighbouring channels in a word, the first in its lower half.
__device__ inline float2 unpack_bf16(std::uint32_t word) {
  return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000U)};
}
__device__ inline float2 unpack_f16(std::uint32_t word) {
  __half2 pair;
  std::memcpy(&pair, &word, sizeof pair);
  return __half22float2(pair);
}
__device__ inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  std::uint32_t word;
  std::memcpy(&word, &pair, sizeof word);
  return word;
}
__device__ inline std::uint32_t pack_f16(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  std::uint32_t word;
  std::memcpy(&word, &pair, sizeof word);
  return word;
}

// Bulk copies want their shared memory aligned. By an offset, so that the compiler still knows that
// it is shared memory and need not find out at each access.
template <typename T>
__device__ T& aligned_shared(std::byte* memory) {
  constexpr std::uint32_t kAlignment = 128;
  return *reinterpret_cast<T*>(memory + (0 - shared_address(memory)) % kAlignment);
}
template <typename T>
inline constexpr int kSharedBytesOf = static_cast<int>(sizeof(T)) + 128;

}  // namespace pantograph::kernels
