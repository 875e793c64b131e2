// Transformed inputs of tiles, a block for a box of channels of a tile: copied to shared memory
// with its halo, transformed in registers, put back in its place and copied from there. Of a ring
// of buffers one is transformed while the next is on its way in and the last on its way out.
//
// A Way has kInputs, the side of a tile with its halo and of its components; transform(d, v) of a
// row of them; scale(), by which x is multiplied; pixels(row, element), the first pixel of the tile
// of a row of components, halo included, with the first element of its box in x;
// kChannelsOfElement, 1 or 2; kBuffers; and kBlocks, how many blocks a multiprocessor should hold.
#pragma once

#include <algorithm>

#include "kernels/common/processors.h"
#include "kernels/winograd/maps.h"
#include "kernels/winograd/tile.cuh"

namespace pantograph::kernels {

template <typename Way>  // with a thread for two channels
inline constexpr int kRingThreads = kElementsOfBox * Way::kChannelsOfElement / 2;

template <typename Way>
struct InputRing {
  static constexpr int kPixels = Way::kInputs * Way::kInputs;
  alignas(128) std::uint32_t tile[Way::kBuffers][kPixels][kRingThreads<Way>];
  std::uint64_t loaded[Way::kBuffers];
};

template <typename Way>
struct InputArguments {
  CUtensorMap x, v;
  Way way;
  std::int32_t chunks;  // boxes of a row
  std::int64_t parts;   // rows times chunks
};

// tile[component] = transform of tile[pixel], for the two channels of a thread.
template <typename Way>
__device__ void transform_tile(std::uint32_t (*tile)[kRingThreads<Way>], int thread, float scale) {
  constexpr int kInputs = Way::kInputs;
  float half_low[kInputs][kInputs], half_high[kInputs][kInputs];  // [component row][column]
#pragma unroll
  for (int j = 0; j < kInputs; ++j) {
    float low[kInputs], high[kInputs], v[kInputs];
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      const float2 values = unpack_bf16(tile[i * kInputs + j][thread]);
      low[i] = values.x * scale, high[i] = values.y * scale;
    }
    Way::transform(low, v);
#pragma unroll
    for (int i = 0; i < kInputs; ++i) half_low[i][j] = v[i];
    Way::transform(high, v);
#pragma unroll
    for (int i = 0; i < kInputs; ++i) half_high[i][j] = v[i];
  }
#pragma unroll
  for (int i = 0; i < kInputs; ++i) {
    float low[kInputs], high[kInputs];
    Way::transform(half_low[i], low);
    Way::transform(half_high[i], high);
#pragma unroll
    for (int j = 0; j < kInputs; ++j) tile[i * kInputs + j][thread] = pack_f16(low[j], high[j]);
  }
}

template <typename Way>
__global__ void __launch_bounds__(kRingThreads<Way>, Way::kBlocks)
    input_ring_kernel(const __grid_constant__ InputArguments<Way> p) {
  extern __shared__ std::byte memory[];
  auto& shared = aligned_shared<InputRing<Way>>(memory);
  constexpr int kBuffers = Way::kBuffers;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    for (int buffer = 0; buffer < kBuffers; ++buffer) init_barrier(&shared.loaded[buffer], 1);
    fence_barrier_init();
  }
  __syncthreads();
  const float scale = p.way.scale();
  // Neighbours of a tile read its pixels again; components are more than the cache holds.
  const CachePolicy keep_pixels = keep_longest(), keep_components = keep_least();
  const std::int64_t first = blockIdx.x, step = gridDim.x;
  const auto element = [&](std::int64_t part) {
    return static_cast<std::int32_t>(part % p.chunks) * kElementsOfBox;
  };
  const auto load = [&](std::int64_t part, int buffer) {
    const PixelsAt at = p.way.pixels(static_cast<std::int32_t>(part / p.chunks), element(part));
    arrive_expecting(&shared.loaded[buffer], sizeof shared.tile[buffer]);
    load_box(p.x, at, shared.tile[buffer], &shared.loaded[buffer], keep_pixels);
  };
  constexpr int kAhead = kBuffers - 1;
  if (thread == 0) {
    for (int ahead = 0; ahead < kAhead; ++ahead) {
      if (first + ahead * step < p.parts) load(first + ahead * step, ahead);
    }
  }
  int buffer = 0;
  std::uint32_t parity = 0;
  for (std::int64_t part = first; part < p.parts; part += step) {
    wait(&shared.loaded[buffer], parity);
    transform_tile<Way>(shared.tile[buffer], thread, scale);
    fence_for_copies();
    __syncthreads();
    if (thread == 0) {
      store_box(p.v, BoxAt{element(part), static_cast<std::int32_t>(part / p.chunks), 0},
                shared.tile[buffer], keep_components);
      if (part + kAhead * step < p.parts) {
        wait_for_stores_to_read<1>();  // all but the one that has just begun
        load(part + kAhead * step, (buffer + kAhead) % kBuffers);
      }
    }
    if (++buffer == kBuffers) {
      buffer = 0;
      parity ^= 1;
    }
  }
  if (thread == 0) wait_for_stores();
}

template <typename Way>
cudaError_t launch_input_ring(const InputArguments<Way>& p, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytesOf<InputRing<Way>>;
  static_assert(kBytes <= kMostSharedBytes);
  const auto kernel = input_ring_kernel<Way>;
  int processors = 0;
  cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (status == cudaSuccess) status = count_processors(processors);
  if (status != cudaSuccess) return status;
  const std::int64_t blocks = std::min<std::int64_t>(processors * Way::kBlocks, p.parts);
  kernel<<<static_cast<unsigned>(blocks), kRingThreads<Way>, kBytes, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace pantograph::kernels
