// A persistent kernel, specialised by warps. Two blocks of a cluster share each tile of b: either
// loads half of it for both. In a block one thread loads, two warpgroups multiply 64 rows each;
// either may run ahead of the other by the depth of the ring, so that one stores while the other
// multiplies.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "geometry/gemm_tiles.h"
#include "kernels/common/processors.h"
#include "kernels/hopper/bulk_copy.cuh"
#include "kernels/hopper/component_gemm.h"
#include "kernels/hopper/tensor_map.h"
#include "kernels/hopper/wgmma.cuh"

namespace pantograph::kernels {
namespace {

constexpr int kRows = 128, kDepth = 64;  // of a block's tile; its columns are a parameter
constexpr int kStages = 4;
constexpr int kCluster = 2;
constexpr int kConsumers = 2;  // warpgroups
constexpr int kGroup = 128;    // threads of a warpgroup
constexpr int kThreads = kGroup * (1 + kConsumers);
constexpr int kConsumerRows = kRows / kConsumers;
constexpr int kStoreColumns = 64;  // of a box that is stored: 128 bytes
constexpr int kStoreBuffers = 2;
// From so many blocks of depth on, the second warpgroup stays one behind the first: they do not
// store at the same time.
constexpr int kLeastToStagger = 24;
constexpr int kStaggerBarrier = 1 + kConsumers;

// 16-bit elements, all tiles aligned to the 1024 bytes of the swizzle.
template <int kColumns>
struct Shared {
  std::uint16_t a[kStages][kRows * kDepth];
  std::uint16_t b[kStages][kColumns * kDepth];
  std::uint16_t y[kConsumers][kStoreBuffers][kConsumerRows * kStoreColumns];
  std::uint64_t full[kStages], empty[kStages];
};
constexpr int kAlignment = 1024;

// The blocks of a cluster have rows each, and the same columns.
using geometry::GemmTiles;
static_assert(GemmTiles::kClusterRows == kCluster * kRows);

struct Arguments {
  CUtensorMap a, b, y;
  GemmTiles tiles;
  std::int32_t taps, tap_rows, in_channels;
  const float* bias;
  std::array<std::uint8_t, ComponentGemm::kMostComponents> a_of;
};

// A place in the ring, and the parity of the round.
struct Slot {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <int kColumns>
__device__ void load_tiles(const Arguments& p, Shared<kColumns>& shared, std::uint32_t rank,
                           std::int64_t first, std::int64_t step) {
  constexpr int kShare = kColumns / kCluster;
  constexpr std::uint32_t kStageBytes = (kRows + kColumns) * kDepth * 2;
  constexpr std::uint16_t kAll = (1 << kCluster) - 1;
  Slot slot;
  const std::int64_t count = p.tiles.count();
  for (std::int64_t index = first; index < count; index += step) {
    const GemmTiles::Tile tile = p.tiles.tile(index);
    const std::int32_t a_component = p.a_of[tile.component];
    std::int32_t row = tile.row + static_cast<std::int32_t>(rank) * kRows;
    std::int32_t depth = 0;
    for (int tap = 0; tap < p.taps; ++tap, row += p.tap_rows) {
      for (int channel = 0; channel < p.in_channels; channel += kDepth, depth += kDepth) {
        std::uint64_t* full = &shared.full[slot.stage];
        wait(&shared.empty[slot.stage], slot.parity ^ 1);
        arrive_expecting(full, kStageBytes);
        load_box(p.a, BoxAt{channel, row, a_component}, shared.a[slot.stage], full);
        const int share = static_cast<int>(rank) * kShare;
        load_box_to_all(p.b, {depth, tile.column + share, tile.component},
                        &shared.b[slot.stage][share * kDepth], full, kAll);
        slot.advance();
      }
    }
  }
}

template <typename Y>
__device__ std::uint32_t pack(float low, float high) {
  std::uint32_t word;
  if constexpr (std::is_same_v<Y, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  }
  return word;
}

// Sums of one warpgroup, with the bias, by way of shared memory, in boxes of 64 columns.
template <typename Y, int kColumns>
__device__ void store_tile(const Arguments& p, float (&sums)[kColumns / 2],
                           Shared<kColumns>& shared, int group, int thread, GemmTiles::Tile tile) {
  const int lane = thread % 32, matrix = lane / 8;
  // The row and, of two, the 8 columns whose address this lane gives to stmatrix.
  const int row = thread / 32 * 16 + matrix % 2 * 8 + lane % 8, half = matrix / 2;
#pragma unroll
  for (int box = 0; box < kColumns / kStoreColumns; ++box) {
    const std::int32_t column = tile.column + box * kStoreColumns;
    std::uint16_t* buffer = shared.y[group][box % kStoreBuffers];
    if (thread == 0) wait_for_stores_to_read<kStoreBuffers - 1>();
    sync_threads(1 + group, kGroup);
#pragma unroll
    for (int j = 0; j < kStoreColumns / 8; j += 2) {
      float* d = &sums[(box * kStoreColumns / 8 + j) * 4];
      if (p.bias != nullptr) {
        const auto* bias = reinterpret_cast<const float2*>(p.bias + column + 8 * j + lane % 4 * 2);
        const float2 low = bias[0], high = bias[4];
        d[0] += low.x, d[1] += low.y, d[2] += low.x, d[3] += low.y;
        d[4] += high.x, d[5] += high.y, d[6] += high.x, d[7] += high.y;
      }
      const std::uint32_t address =
          shared_address(buffer) +
          static_cast<std::uint32_t>(row * 128 + ((j + half) ^ row % 8) * 16);
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
          "r"(pack<Y>(d[0], d[1])), "r"(pack<Y>(d[2], d[3])), "r"(pack<Y>(d[4], d[5])),
          "r"(pack<Y>(d[6], d[7]))
          : "memory");
    }
    fence_for_copies();
    sync_threads(1 + group, kGroup);
    if (thread == 0) store_box(p.y, BoxAt{column, tile.row, tile.component}, buffer);
  }
}

template <typename T, typename Y, int kColumns>
__device__ void multiply_tiles(const Arguments& p, Shared<kColumns>& shared, std::uint32_t rank,
                               int group, int thread, std::int64_t first, std::int64_t step) {
  Slot slot;
  const int blocks = p.taps * p.in_channels / kDepth;
  // One thread for each block of the cluster tells that a stage is read: all of them fill it.
  const auto release = [&](int stage) {
    if (thread < kCluster) arrive_at(&shared.empty[stage], static_cast<std::uint32_t>(thread));
  };
  bool leads = blocks >= kLeastToStagger && group == 0;
  if (blocks >= kLeastToStagger && group == 1) sync_threads(kStaggerBarrier, kConsumers * kGroup);
  const std::int64_t count = p.tiles.count();
  for (std::int64_t index = first; index < count; index += step) {
    float sums[kColumns / 2];
    int before = 0;
    for (int block = 0; block < blocks; ++block) {
      wait(&shared.full[slot.stage], slot.parity);
      const std::uint64_t a = operand_tile(&shared.a[slot.stage][group * kConsumerRows * kDepth]);
      const std::uint64_t b = operand_tile(shared.b[slot.stage]);
      begin_products();
#pragma unroll
      for (int k = 0; k < kDepth / 16; ++k) {
        multiply<T>(sums, a + 2 * k, b + 2 * k, block > 0 || k > 0);
      }
      end_products();
      if (leads) {
        arrive_threads(kStaggerBarrier, kConsumers * kGroup);
        leads = false;
      }
      if (block > 0) {
        wait_for_products<1>();
        release(before);
      }
      before = slot.stage;
      slot.advance();
    }
    wait_for_products<0>();
    release(before);
    GemmTiles::Tile tile = p.tiles.tile(index);
    tile.row += static_cast<std::int32_t>(rank) * kRows + group * kConsumerRows;
    store_tile<Y, kColumns>(p, sums, shared, group, thread, tile);
  }
  if (thread == 0) wait_for_stores();
}

template <typename T, typename Y, int kColumns>
__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kThreads, 1)
    component_gemm_kernel(const __grid_constant__ Arguments p) {
  extern __shared__ std::byte memory[];
  auto& shared = *reinterpret_cast<Shared<kColumns>*>(
      (reinterpret_cast<std::uintptr_t>(memory) + kAlignment - 1) / kAlignment * kAlignment);
  const std::uint32_t rank = cluster_rank();
  if (threadIdx.x == 0) {
    prefetch_map(p.a);
    prefetch_map(p.b);
    prefetch_map(p.y);
    for (int stage = 0; stage < kStages; ++stage) {
      init_barrier(&shared.full[stage], 1);
      init_barrier(&shared.empty[stage], kConsumers * kCluster);
    }
    fence_barrier_init();
  }
  sync_cluster();
  const std::int64_t first = blockIdx.x / kCluster, step = gridDim.x / kCluster;
  const int group = static_cast<int>(threadIdx.x) / kGroup;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) load_tiles(p, shared, rank, first, step);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    multiply_tiles<T, Y, kColumns>(p, shared, rank, group - 1,
                                   static_cast<int>(threadIdx.x) % kGroup, first, step);
  }
  sync_cluster();  // nobody leaves while another may still arrive at its barriers
}

cudaError_t make_maps(const ComponentGemm& p, int columns, Arguments& arguments) {
  const auto map = [&](CUtensorMap& result, DType dtype, const void* data,
                       std::array<std::int64_t, 3> sizes, std::array<std::uint32_t, 3> box) {
    return make_tensor_map(result, dtype, data, sizes, box, Swizzle::kBanks);
  };
  cudaError_t status =
      map(arguments.a, p.dtype, p.a, {p.in_channels, p.a_rows, p.a_components}, {kDepth, kRows, 1});
  if (status == cudaSuccess) {
    status = map(arguments.b, p.dtype, p.b, {p.taps * p.in_channels, p.out_channels, p.components},
                 {kDepth, static_cast<std::uint32_t>(columns / kCluster), 1});
  }
  if (status == cudaSuccess) {
    status = map(arguments.y, p.y_dtype, p.y, {p.out_channels, p.rows, p.components},
                 {kStoreColumns, kConsumerRows, 1});
  }
  return status;
}

template <typename T, typename Y, int kColumns>
cudaError_t launch(const ComponentGemm& p, cudaStream_t stream) {
  Arguments arguments{};
  cudaError_t status = make_maps(p, kColumns, arguments);
  if (status != cudaSuccess) return status;
  arguments.tiles = GemmTiles(p.components, p.rows, p.out_channels, kColumns);
  arguments.taps = static_cast<std::int32_t>(p.taps);
  arguments.tap_rows = static_cast<std::int32_t>(p.tap_rows);
  arguments.in_channels = static_cast<std::int32_t>(p.in_channels);
  arguments.bias = p.bias;
  arguments.a_of = p.a_of;

  int processors = 0;
  status = count_processors(processors);
  constexpr int kSharedBytes = static_cast<int>(sizeof(Shared<kColumns>)) + kAlignment;
  static_assert(kSharedBytes <= kMostSharedBytes);
  const auto kernel = component_gemm_kernel<T, Y, kColumns>;
  if (status == cudaSuccess) {
    status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  }
  if (status != cudaSuccess) return status;
  const std::int64_t clusters =
      std::min<std::int64_t>(processors / kCluster, arguments.tiles.count());
  kernel<<<static_cast<unsigned>(clusters) * kCluster, kThreads, kSharedBytes, stream>>>(arguments);
  return cudaGetLastError();
}

}  // namespace

cudaError_t component_gemm(const ComponentGemm& p, cudaStream_t stream) {
  if (p.components > ComponentGemm::kMostComponents || p.in_channels % kDepth != 0) {
    return cudaErrorInvalidValue;
  }
  if (p.components == 0 || p.rows == 0 || p.out_channels == 0) return cudaSuccess;
  const std::int64_t columns = GemmTiles::choose_columns(p.out_channels, p.y_dtype == p.dtype);
  if (columns == 256) {
    return p.dtype == DType::kF16 ? launch<__half, __half, 256>(p, stream)
                                  : launch<__nv_bfloat16, __nv_bfloat16, 256>(p, stream);
  }
  if (columns == 128 && p.dtype == DType::kBF16 && p.y_dtype == DType::kF16) {
    return launch<__nv_bfloat16, __half, 128>(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace pantograph::kernels
