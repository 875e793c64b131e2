// Tiles of output from their products. A block for a tile with all of its channels, so that the
// norm over the channels of a pixel stays inside. Products come in and pixels go out as boxes; the
// next tile's products are on their way as soon as this one's are in registers, unless their place
// is wanted to move history.
//
// A Way has kSize and kInputs, the sides of a tile of pixels and of products; transform(m, y) of a
// row of products; unscale(), by which they are multiplied; and what is added to them: load(),
// which has kAddedBytes of it for a box's channels brought to the place of their pixels, and
// added(), which makes of that something whose at(i, j) gives a thread's two channels of a pixel,
// until that pixel is overwritten.
#pragma once

#include <algorithm>

#include "kernels/common/processors.h"
#include "kernels/winograd/maps.h"
#include "kernels/winograd/silu.cuh"
#include "kernels/winograd/sum_scattered.cuh"
#include "kernels/winograd/tile.cuh"
#include "kernels/winograd/winograd.h"

namespace pantograph::kernels {

inline constexpr int kBoxThreads = kChannelsOfBox / 2;

// With a second one the norm does not wait until y has gone out; tiles of 6 are too large for that.
template <int kSize>
inline constexpr int kRoomsForPixels = kSize == 6 ? 1 : 2;

template <typename Way, int kBoxes>
struct OutputShared {
  static constexpr int kPixels = Way::kSize * Way::kSize;
  static constexpr int kComponents = Way::kInputs * Way::kInputs;
  static constexpr int kWarps = kBoxes * kBoxThreads / 32;
  static constexpr int kRooms = kRoomsForPixels<Way::kSize>;
  using Box = std::uint32_t[kPixels][kBoxThreads];
  // Products, then pixels of the history as it was.
  alignas(128) std::uint32_t products[kBoxes][kComponents][kBoxThreads];
  // What is added, then y and, where there is no more room, y's norm.
  alignas(128) Box pixels[kRooms * kBoxes];
  __device__ Box* normed() { return pixels + (kRooms - 1) * kBoxes; }
  std::uint64_t products_loaded, added_loaded, history_loaded;
  float squares[kWarps][kPixels], factors[kPixels];
};

template <typename Way>
struct OutputArguments {
  CUtensorMap products, y, normed, history;
  Way way;
  const float* bias;
  const float* gamma;
  Tiling tiling;
  std::int32_t rows, frames, history_frames;
  std::int32_t first_kept_row;  // from here on, rows become history
  bool adds, has_y;
};

// Blocks that a multiprocessor should hold: 32, 24 and 16 warps for tiles of 2, 4 and 6.
template <int kSize, int kBoxes>
inline constexpr int kOutputBlocks = (kSize == 2 ? 8 : (kSize == 4 ? 6 : 4)) / kBoxes;

template <typename Way, int kBoxes, bool kNorm>
__global__ void __launch_bounds__(kBoxes* kBoxThreads, kOutputBlocks<Way::kSize, kBoxes>)
    output_tiles_kernel(const __grid_constant__ OutputArguments<Way> p) {
  constexpr int kSize = Way::kSize, kInputs = Way::kInputs;
  constexpr int kPixels = kSize * kSize, kThreads = kBoxes * kBoxThreads;
  extern __shared__ std::byte memory[];
  using Shared = OutputShared<Way, kBoxes>;
  auto& shared = aligned_shared<Shared>(memory);
  const int thread = static_cast<int>(threadIdx.x);
  auto* products = shared.products[thread / kBoxThreads];
  auto* pixels = shared.pixels[thread / kBoxThreads];
  auto* normed = shared.normed()[thread / kBoxThreads];
  // Boxes that may still be on their way out of one room when the other is written.
  constexpr int kPending = kNorm ? (Shared::kRooms - 1) * kBoxes : 0;
  const int word = thread % kBoxThreads;        // of a box's rows
  const bool copies = thread == kThreads - 32;  // not of the warps that sum up the squares
  if (copies) {
    init_barrier(&shared.products_loaded, 1);
    init_barrier(&shared.added_loaded, 1);
    init_barrier(&shared.history_loaded, 1);
    fence_barrier_init();
  }
  __syncthreads();
  const float2 bias = reinterpret_cast<const float2*>(p.bias)[thread];
  float2 gamma{};
  if constexpr (kNorm) gamma = reinterpret_cast<const float2*>(p.gamma)[thread];
  const float unscale = p.way.unscale();
  const auto load_products = [&](std::int32_t row) {
    arrive_expecting(&shared.products_loaded, sizeof shared.products);
    for (int box = 0; box < kBoxes; ++box) {
      load_box(p.products, BoxAt{box * kChannelsOfBox, row, 0}, shared.products[box],
               &shared.products_loaded);
    }
  };
  const auto load_added = [&](std::int32_t row) {
    arrive_expecting(&shared.added_loaded, kBoxes * Way::kAddedBytes);
    for (int box = 0; box < kBoxes; ++box) {
      p.way.load(p.tiling.pixels(row, box * kChannelsOfBox), shared.pixels[box],
                 &shared.added_loaded);
    }
  };
  // A frame's place in the history, and the first one that its block moves out.
  const auto history_slot = [&](std::int32_t frame) { return frame + p.history_frames - p.frames; };
  const auto oldest_slot = [&](std::int32_t frame) {
    return p.frames < p.history_frames ? 0 : history_slot(frame);
  };
  const auto load_history = [&](PixelsAt at) {
    arrive_expecting(&shared.history_loaded, kBoxes * sizeof shared.pixels[0]);
    for (int box = 0; box < kBoxes; ++box, at.channel += kChannelsOfBox) {
      load_box(p.history, at, shared.products[box], &shared.history_loaded);
    }
  };
  const auto store = [](const CUtensorMap& map, PixelsAt at, const auto* boxes) {
    for (int box = 0; box < kBoxes; ++box, at.channel += kChannelsOfBox) {
      store_box(map, at, boxes[box]);
    }
  };

  const auto first = static_cast<std::int32_t>(blockIdx.x);
  const auto step = static_cast<std::int32_t>(gridDim.x);
  if (copies) {
    load_products(first);
    if (p.adds) load_added(first);
  }
  std::uint32_t parities = 0;  // of this tile's loads, and in the second bit of the history's
  for (std::int32_t row = first; row < p.rows; row += step, parities ^= 1) {
    wait(&shared.products_loaded, parities & 1);
    float half_low[kSize][kInputs], half_high[kSize][kInputs];  // [pixel row][component column]
#pragma unroll
    for (int j = 0; j < kInputs; ++j) {
      float low[kInputs], high[kInputs], y[kSize];
#pragma unroll
      for (int i = 0; i < kInputs; ++i) {
        const float2 values = unpack_f16(products[i * kInputs + j][word]);
        low[i] = values.x, high[i] = values.y;
      }
      Way::transform(low, y);
#pragma unroll
      for (int i = 0; i < kSize; ++i) half_low[i][j] = y[i];
      Way::transform(high, y);
#pragma unroll
      for (int i = 0; i < kSize; ++i) half_high[i][j] = y[i];
    }
    fence_for_copies();
    // Of y, before the next takes its place; what is added has waited for it already.
    if (copies && !p.adds && p.has_y) wait_for_stores_to_read<kPending>();
    __syncthreads();
    const PixelsAt at = p.tiling.pixels(row, 0);
    if (copies) {
      if (kNorm && row >= p.first_kept_row) {
        load_history({0, at.column, at.row, oldest_slot(at.frame)});
      } else if (row + step < p.rows) {
        load_products(row + step);
      }
    }

    if (p.adds) wait(&shared.added_loaded, parities & 1);
    const auto added = p.way.added(pixels, word, at.frame);
    std::uint32_t rounded[kPixels];
    float squares[kPixels];
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      float low[kSize], high[kSize];
      Way::transform(half_low[i], low);
      Way::transform(half_high[i], high);
      float2 more[kSize] = {};
      if (p.adds) {
#pragma unroll
        for (int j = 0; j < kSize; ++j) more[j] = added.at(i, j);
      }
      std::uint32_t packed[kSize];
#pragma unroll
      for (int j = 0; j < kSize; ++j) {
        packed[j] = pack_bf16(low[j] * unscale + bias.x + more[j].x,
                              high[j] * unscale + bias.y + more[j].y);
        if constexpr (kNorm) {
          const float2 kept = unpack_bf16(packed[j]);
          rounded[i * kSize + j] = packed[j];
          squares[i * kSize + j] = kept.x * kept.x + kept.y * kept.y;
        }
      }
      if (p.has_y) {
#pragma unroll
        for (int j = 0; j < kSize; ++j) pixels[i * kSize + j][word] = packed[j];
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
    if (copies && p.has_y) store(p.y, at, shared.pixels);
    if constexpr (kNorm) {
      if (thread < kPixels) {
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < kThreads / 32; ++warp) sum += shared.squares[warp][thread];
        constexpr float kChannels = kBoxes * kChannelsOfBox;
        shared.factors[thread] = sqrtf(kChannels) * fminf(rsqrtf(sum), 1e12F);
      }
      // Of y or, where the norm has a room of its own, of the norm before.
      if (copies) p.has_y ? wait_for_stores_to_read<kPending>() : wait_for_stores_to_read<0>();
      __syncthreads();
      // A few at a time: for all that the compiler knows, what is stored changes factors.
      constexpr int kAtOnce = 4;
#pragma unroll
      for (int first = 0; first < kPixels; first += kAtOnce) {
        std::uint32_t made[kAtOnce];
        float factors[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) factors[k] = shared.factors[first + k];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          const float2 value = unpack_bf16(rounded[first + k]);
          const float2 y = silu({value.x * factors[k] * gamma.x, value.y * factors[k] * gamma.y});
          made[k] = pack_bf16(y.x, y.y);
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) normed[first + k][word] = made[k];
      }
      fence_for_copies();
      __syncthreads();
      const auto frame = [&](std::int32_t index) { return PixelsAt{0, at.column, at.row, index}; };
      if (copies) store(p.normed, frame(p.history_frames + at.frame), shared.normed());
      if (copies && row >= p.first_kept_row) {
        const std::int32_t slot = history_slot(at.frame);
        for (std::int32_t old = oldest_slot(at.frame);; ++old) {
          wait(&shared.history_loaded, parities >> 1);
          parities ^= 2;
          store(p.normed, frame(old), shared.products);
          if (old >= p.frames) store(p.history, frame(old - p.frames), shared.products);
          if (old == slot) break;
          wait_for_stores_to_read<0>();
          load_history(frame(old + 1));
        }
        store(p.history, frame(slot), shared.normed());
        wait_for_stores_to_read<0>();
        if (row + step < p.rows) load_products(row + step);
      }
    }
    if (copies && p.adds && row + step < p.rows) {
      wait_for_stores_to_read<kPending>();  // but for the norm's
      load_added(row + step);
    }
  }
  if (copies) wait_for_stores();
}

template <int kBoxes, typename Way>
cudaError_t launch_output_tiles(const OutputArguments<Way>& p, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytesOf<OutputShared<Way, kBoxes>>;
  static_assert(kBytes <= kMostSharedBytes);
  constexpr int kThreads = kBoxes * kBoxThreads;
  const auto kernel = p.gamma != nullptr ? output_tiles_kernel<Way, kBoxes, true>
                                         : output_tiles_kernel<Way, kBoxes, false>;
  int processors = 0, resident = 0;
  cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (status == cudaSuccess) status = count_processors(processors);
  if (status == cudaSuccess) {
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, kBytes);
  }
  if (status != cudaSuccess) return status;
  const int blocks = std::min(p.rows, processors * resident);
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, stream>>>(p);
  return cudaGetLastError();
}

// What y and its norm share between the ways.
template <typename Way>
cudaError_t describe_output(OutputArguments<Way>& arguments, void* y, std::int64_t frames,
                            const geometry::WinogradTiles& tiles, std::int64_t channels,
                            const WinogradNorm& norm) {
  const auto pixels = [&](CUtensorMap& map, const void* data, std::int64_t count) {
    return data == nullptr ? cudaSuccess
                           : map_pixels(map, data, count, tiles, channels, tiles.size);
  };
  // A frame's block reads places of the history that another would write, where several frames are
  // fewer than what is kept.
  if (norm.history_frames > std::max<std::int64_t>(2, frames)) return cudaErrorInvalidValue;
  cudaError_t status = pixels(arguments.y, y, frames);
  if (status == cudaSuccess && norm.y != nullptr) {
    const std::int64_t room = norm.history_frames * tiles.height * tiles.width * channels * 2;
    status = pixels(arguments.normed, static_cast<const std::byte*>(norm.y) - room,
                    norm.history_frames + frames);
  }
  if (status == cudaSuccess) status = pixels(arguments.history, norm.history, norm.history_frames);
  arguments.gamma = norm.gamma;
  arguments.tiling = tiling(tiles);
  arguments.rows = static_cast<std::int32_t>(frames * tiles.per_frame());
  arguments.frames = static_cast<std::int32_t>(frames);
  arguments.history_frames = static_cast<std::int32_t>(norm.history_frames);
  const std::int64_t frames_before = std::max<std::int64_t>(0, frames - norm.history_frames);
  arguments.first_kept_row = static_cast<std::int32_t>(frames_before * tiles.per_frame());
  arguments.has_y = y != nullptr;
  return status;
}

}  // namespace pantograph::kernels
