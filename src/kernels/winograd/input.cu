// A block for 256 channels of a tile, copied to shared memory with its halo, transformed in
// registers, put back in its place and copied from there. Of a ring of buffers one is transformed
// while the next is on its way in and the last on its way out.
#include <algorithm>

#include "kernels/winograd/maps.h"
#include "kernels/winograd/tile.cuh"
#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/winograd.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = kChannelsOfBox / 2, kBuffers = 3, kBlocks = 2;  // of a multiprocessor

template <int kSize>
struct Shared {
  static constexpr int kInputs = kSize + 2;
  alignas(128) std::uint32_t tile[kBuffers][kInputs * kInputs][kThreads];
  std::uint64_t loaded[kBuffers];
};

struct Arguments {
  CUtensorMap x, v;
  Tiling tiling;
  std::int32_t chunks;  // of channels
  std::int64_t parts;   // rows times chunks
};

// tile[component] = transform of tile[pixel], for the two channels of a thread.
template <int kSize>
__device__ void transform_tile(std::uint32_t (*tile)[kThreads], int thread) {
  constexpr int kInputs = kSize + 2;
  float half_low[kInputs][kInputs], half_high[kInputs][kInputs];  // [component row][column]
#pragma unroll
  for (int j = 0; j < kInputs; ++j) {
    float low[kInputs], high[kInputs], v[kInputs];
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      const float2 values = unpack_bf16(tile[i * kInputs + j][thread]);
      low[i] = values.x, high[i] = values.y;
    }
    transform_input<kSize>(low, v);
#pragma unroll
    for (int i = 0; i < kInputs; ++i) half_low[i][j] = v[i];
    transform_input<kSize>(high, v);
#pragma unroll
    for (int i = 0; i < kInputs; ++i) half_high[i][j] = v[i];
  }
#pragma unroll
  for (int i = 0; i < kInputs; ++i) {
    float low[kInputs], high[kInputs];
    transform_input<kSize>(half_low[i], low);
    transform_input<kSize>(half_high[i], high);
#pragma unroll
    for (int j = 0; j < kInputs; ++j) tile[i * kInputs + j][thread] = pack_f16(low[j], high[j]);
  }
}

template <int kSize>
__global__ void __launch_bounds__(kThreads, kBlocks)
    winograd_input_kernel(const __grid_constant__ Arguments p) {
  extern __shared__ std::byte memory[];
  auto& shared = aligned_shared<Shared<kSize>>(memory);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    for (int buffer = 0; buffer < kBuffers; ++buffer) init_barrier(&shared.loaded[buffer], 1);
    fence_barrier_init();
  }
  __syncthreads();
  const std::int64_t first = blockIdx.x, step = gridDim.x;
  const auto channel = [&](std::int64_t part) {
    return static_cast<std::int32_t>(part % p.chunks) * kChannelsOfBox;
  };
  const auto load = [&](std::int64_t part, int buffer) {
    PixelsAt at = p.tiling.pixels(static_cast<std::int32_t>(part / p.chunks), channel(part));
    --at.row, --at.column;  // the halo
    arrive_expecting(&shared.loaded[buffer], sizeof shared.tile[buffer]);
    load_box(p.x, at, shared.tile[buffer], &shared.loaded[buffer]);
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
    transform_tile<kSize>(shared.tile[buffer], thread);
    fence_for_copies();
    __syncthreads();
    if (thread == 0) {
      store_box(p.v, BoxAt{channel(part), static_cast<std::int32_t>(part / p.chunks), 0},
                shared.tile[buffer]);
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

template <int kSize>
cudaError_t launch(const Arguments& p, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytesOf<Shared<kSize>>;
  const auto kernel = winograd_input_kernel<kSize>;
  int device = 0, processors = 0;
  cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (status == cudaSuccess) status = cudaGetDevice(&device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (status != cudaSuccess) return status;
  const std::int64_t blocks = std::min<std::int64_t>(processors * kBlocks, p.parts);
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace

cudaError_t winograd_input(const WinogradInput& p, cudaStream_t stream) {
  const std::int64_t rows = p.frames * p.tiles.per_frame();
  if (rows == 0) return cudaSuccess;
  Arguments arguments{};
  cudaError_t status =
      map_pixels(arguments.x, p.x, p.frames, p.tiles, p.channels, p.tiles.size + 2);
  if (status == cudaSuccess) {
    status = map_components(arguments.v, p.v, p.tiles.components(), rows, p.channels);
  }
  if (status != cudaSuccess) return status;
  arguments.tiling = tiling(p.tiles);
  arguments.chunks = static_cast<std::int32_t>(p.channels / kChannelsOfBox);
  arguments.parts = rows * arguments.chunks;
  return p.tiles.size == 4 ? launch<4>(arguments, stream) : launch<6>(arguments, stream);
}

}  // namespace pantograph::kernels
