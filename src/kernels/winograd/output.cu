// A block for a tile with all of its channels, so that the norm over the channels of a pixel stays
// inside. Products come in and pixels go out as boxes; the next tile's products are on their way as
// soon as this one's are in registers.
#include <algorithm>

#include "kernels/winograd/maps.h"
#include "kernels/winograd/sum_scattered.cuh"
#include "kernels/winograd/tile.cuh"
#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/winograd.h"

namespace pantograph::kernels {
namespace {

constexpr int kBoxThreads = kChannelsOfBox / 2;

template <int kSize, int kBoxes>
struct Shared {
  static constexpr int kPixels = kSize * kSize, kComponents = (kSize + 2) * (kSize + 2);
  static constexpr int kWarps = kBoxes * kBoxThreads / 32;
  alignas(128) std::uint32_t products[kBoxes][kComponents][kBoxThreads];
  // Residual, then y, then y's norm.
  alignas(128) std::uint32_t pixels[kBoxes][kPixels][kBoxThreads];
  std::uint64_t products_loaded, residual_loaded;
  float squares[kWarps][kPixels], factors[kPixels];
};

struct Arguments {
  CUtensorMap products, residual, y, normed, history;
  const float* bias;
  const float* gamma;
  Tiling tiling;
  std::int32_t rows, frames, history_frames;
  bool has_residual, has_y;
};

__device__ float silu(float v) {
  return __fdividef(v, 1.0F + __expf(-v));
}

// Blocks that a multiprocessor should hold: 16 warps of the larger tile, 24 of the smaller.
template <int kSize, int kBoxes>
constexpr int kBlocks = kSize == 6 ? 4 / kBoxes : (kBoxes == 4 ? 1 : 6 / kBoxes);

template <int kSize, int kBoxes, bool kNorm>
__global__ void __launch_bounds__(kBoxes* kBoxThreads, kBlocks<kSize, kBoxes>)
    winograd_output_kernel(const __grid_constant__ Arguments p) {
  constexpr int kInputs = kSize + 2, kPixels = kSize * kSize, kThreads = kBoxes * kBoxThreads;
  extern __shared__ std::byte memory[];
  auto& shared = aligned_shared<Shared<kSize, kBoxes>>(memory);
  const int thread = static_cast<int>(threadIdx.x);
  auto* products = shared.products[thread / kBoxThreads];
  auto* pixels = shared.pixels[thread / kBoxThreads];
  const int word = thread % kBoxThreads;        // of a box's rows
  const bool copies = thread == kThreads - 32;  // not of the warps that sum up the squares
  if (copies) {
    init_barrier(&shared.products_loaded, 1);
    init_barrier(&shared.residual_loaded, 1);
    fence_barrier_init();
  }
  __syncthreads();
  const float2 bias = reinterpret_cast<const float2*>(p.bias)[thread];
  float2 gamma{};
  if constexpr (kNorm) gamma = reinterpret_cast<const float2*>(p.gamma)[thread];
  const auto load_products = [&](std::int32_t row) {
    arrive_expecting(&shared.products_loaded, sizeof shared.products);
    for (int box = 0; box < kBoxes; ++box) {
      load_box(p.products, BoxAt{box * kChannelsOfBox, row, 0}, shared.products[box],
               &shared.products_loaded);
    }
  };
  const auto load_residual = [&](std::int32_t row) {
    arrive_expecting(&shared.residual_loaded, sizeof shared.pixels);
    for (int box = 0; box < kBoxes; ++box) {
      load_box(p.residual, p.tiling.pixels(row, box * kChannelsOfBox), shared.pixels[box],
               &shared.residual_loaded);
    }
  };
  const auto store_pixels = [&](const CUtensorMap& map, PixelsAt at) {
    for (int box = 0; box < kBoxes; ++box, at.channel += kChannelsOfBox) {
      store_box(map, at, shared.pixels[box]);
    }
  };

  const auto first = static_cast<std::int32_t>(blockIdx.x);
  const auto step = static_cast<std::int32_t>(gridDim.x);
  if (copies) {
    load_products(first);
    if (p.has_residual) load_residual(first);
  }
  std::uint32_t parity = 0;
  for (std::int32_t row = first; row < p.rows; row += step, parity ^= 1) {
    wait(&shared.products_loaded, parity);
    float half_low[kSize][kInputs], half_high[kSize][kInputs];  // [pixel row][component column]
#pragma unroll
    for (int j = 0; j < kInputs; ++j) {
      float low[kInputs], high[kInputs], y[kSize];
#pragma unroll
      for (int i = 0; i < kInputs; ++i) {
        const float2 values = unpack_f16(products[i * kInputs + j][word]);
        low[i] = values.x, high[i] = values.y;
      }
      transform_output<kSize>(low, y);
#pragma unroll
      for (int i = 0; i < kSize; ++i) half_low[i][j] = y[i];
      transform_output<kSize>(high, y);
#pragma unroll
      for (int i = 0; i < kSize; ++i) half_high[i][j] = y[i];
    }
    fence_for_copies();
    if (copies && !p.has_residual) wait_for_stores_to_read<0>();  // of the tile before
    __syncthreads();
    if (copies && row + step < p.rows) load_products(row + step);

    if (p.has_residual) wait(&shared.residual_loaded, parity);
    std::uint32_t rounded[kPixels];
    float squares[kPixels];
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      float low[kSize], high[kSize];
      transform_output<kSize>(half_low[i], low);
      transform_output<kSize>(half_high[i], high);
#pragma unroll
      for (int j = 0; j < kSize; ++j) {
        const int pixel = i * kSize + j;
        float2 value = {low[j] + bias.x, high[j] + bias.y};
        if (p.has_residual) {
          const float2 residual = unpack_bf16(pixels[pixel][word]);
          value.x += residual.x, value.y += residual.y;
        }
        const std::uint32_t packed = pack_bf16(value.x, value.y);
        if (p.has_y) pixels[pixel][word] = packed;
        if constexpr (kNorm) {
          const float2 kept = unpack_bf16(packed);
          rounded[pixel] = packed;
          squares[pixel] = kept.x * kept.x + kept.y * kept.y;
        }
      }
    }
    if constexpr (kNorm) {
      SummedRange range{0, kPixels};
      sum_scattered<kPixels>(squares, thread % 32, range);
#pragma unroll
      for (int k = 0; k < (kPixels + 31) / 32; ++k) {
        if (k < range.count) shared.squares[thread / 32][range.first + k] = squares[k];
      }
    }
    fence_for_copies();
    __syncthreads();
    const PixelsAt at = p.tiling.pixels(row, 0);
    if (copies && p.has_y) store_pixels(p.y, at);
    if constexpr (kNorm) {
      if (thread < kPixels) {
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < kThreads / 32; ++warp) sum += shared.squares[warp][thread];
        constexpr float kChannels = kBoxes * kChannelsOfBox;
        shared.factors[thread] = sqrtf(kChannels) / fmaxf(sqrtf(sum), 1e-12F);
      }
      if (copies) wait_for_stores_to_read<0>();  // of y
      __syncthreads();
#pragma unroll
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        const float2 value = unpack_bf16(rounded[pixel]);
        const float factor = shared.factors[pixel];
        pixels[pixel][word] =
            pack_bf16(silu(value.x * factor * gamma.x), silu(value.y * factor * gamma.y));
      }
      fence_for_copies();
      __syncthreads();
      if (copies) {
        store_pixels(p.normed, at);
        const std::int32_t slot = at.frame + p.history_frames - p.frames;
        if (slot >= 0 && p.history_frames > 0) {
          store_pixels(p.history, PixelsAt{0, at.column, at.row, slot});
        }
      }
    }
    if (copies && p.has_residual && row + step < p.rows) {
      wait_for_stores_to_read<0>();
      load_residual(row + step);
    }
  }
  if (copies) wait_for_stores();
}

template <int kSize, int kBoxes>
cudaError_t launch(const Arguments& p, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytesOf<Shared<kSize, kBoxes>>, kThreads = kBoxes * kBoxThreads;
  const auto kernel = p.gamma != nullptr ? winograd_output_kernel<kSize, kBoxes, true>
                                         : winograd_output_kernel<kSize, kBoxes, false>;
  int device = 0, processors = 0, resident = 0;
  cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (status == cudaSuccess) status = cudaGetDevice(&device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (status == cudaSuccess) {
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, kBytes);
  }
  if (status != cudaSuccess) return status;
  const int blocks = std::min(p.rows, processors * resident);
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, stream>>>(p);
  return cudaGetLastError();
}

cudaError_t make_maps(const WinogradOutput& p, Arguments& arguments) {
  const auto pixels = [&](CUtensorMap& map, const void* data, std::int64_t frames) {
    return data == nullptr ? cudaSuccess
                           : map_pixels(map, data, frames, p.tiles, p.channels, p.tiles.size);
  };
  cudaError_t status = map_components(arguments.products, p.m, p.tiles.components(),
                                      p.frames * p.tiles.per_frame(), p.channels);
  if (status == cudaSuccess) status = pixels(arguments.residual, p.residual, p.frames);
  if (status == cudaSuccess) status = pixels(arguments.y, p.y, p.frames);
  if (status == cudaSuccess) status = pixels(arguments.normed, p.norm.y, p.frames);
  if (status == cudaSuccess) {
    status = pixels(arguments.history, p.norm.history, p.norm.history_frames);
  }
  return status;
}

}  // namespace

cudaError_t winograd_output(const WinogradOutput& p, cudaStream_t stream) {
  const std::int64_t rows = p.frames * p.tiles.per_frame();
  if (rows == 0) return cudaSuccess;
  Arguments arguments{};
  const cudaError_t status = make_maps(p, arguments);
  if (status != cudaSuccess) return status;
  arguments.bias = p.bias;
  arguments.gamma = p.norm.gamma;
  arguments.tiling = tiling(p.tiles);
  arguments.rows = static_cast<std::int32_t>(rows);
  arguments.frames = static_cast<std::int32_t>(p.frames);
  arguments.history_frames = static_cast<std::int32_t>(p.norm.history_frames);
  arguments.has_residual = p.residual != nullptr;
  arguments.has_y = p.y != nullptr;
  if (!WinogradOutput::takes_channels(p.channels)) return cudaErrorInvalidValue;
  switch (p.channels) {
    case 256:
      return p.tiles.size == 4 ? launch<4, 1>(arguments, stream) : launch<6, 1>(arguments, stream);
    case 512:
      return p.tiles.size == 4 ? launch<4, 2>(arguments, stream) : launch<6, 2>(arguments, stream);
    default:
      return p.tiles.size == 4 ? launch<4, 4>(arguments, stream) : launch<6, 4>(arguments, stream);
  }
}

}  // namespace pantograph::kernels
