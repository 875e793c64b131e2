#include "kernels/token_ops/column_sums.h"

#include "kernels/token_ops/dispatch.cuh"

namespace pantograph::kernels {
namespace {

constexpr int kColumns = 32;  // of a block
constexpr int kSlices = 8;    // of the slots, each added up by one warp

struct Outputs {
  void* at[2];
};

template <typename T>
__global__ void __launch_bounds__(kColumns* kSlices)
    column_sums_kernel(const __grid_constant__ PartialSums sums, const float* partials,
                       const __grid_constant__ Outputs outputs) {
  __shared__ float slices[kSlices][kColumns];
  const std::int64_t tiles_per_row = ceil_divide(sums.columns, kColumns);
  const std::int64_t tiles = sums.groups * sums.parts * tiles_per_row;
  const unsigned x = threadIdx.x % kColumns;
  const unsigned slice = threadIdx.x / kColumns;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t row = tile / tiles_per_row;
    const std::int64_t group = row / sums.parts;
    const auto part = static_cast<int>(row % sums.parts);
    const std::int64_t column = (tile % tiles_per_row) * kColumns + x;
    const bool inside = column < sums.columns;
    float sum = 0;
    if (inside) {
      const float* source = partials + (group * sums.slots * sums.parts + part) * sums.columns;
#pragma unroll 4
      for (std::int64_t slot = slice; slot < sums.slots; slot += kSlices) {
        sum += source[slot * sums.parts * sums.columns + column];
      }
    }
    slices[slice][x] = sum;
    __syncthreads();
    if (slice == 0 && inside) {
      for (int i = 1; i < kSlices; ++i) sum += slices[i][x];
      round_to(sum, static_cast<T*>(outputs.at[part])[group * sums.columns + column]);
    }
    __syncthreads();
  }
}

}  // namespace

PartialSums PartialSums::plan(const TokenShape& shape, bool shared, int parts,
                              std::int64_t blocks) {
  PartialSums sums{.groups = shared ? 1 : shape.batch,
                   .rows_per_group = shared ? shape.rows() : shape.tokens,
                   .parts = parts,
                   .columns = shape.channels};
  if (sums.groups > 0 && sums.rows_per_group > 0) {
    sums.slots = std::clamp<std::int64_t>(blocks / sums.groups, 1, sums.rows_per_group);
  }
  return sums;
}

cudaError_t column_sums(const PartialSums& sums, const float* partials, DType dtype,
                        void* const (&outputs)[2], cudaStream_t stream) {
  const std::int64_t tiles = sums.groups * sums.parts * ceil_divide(sums.columns, kColumns);
  if (tiles == 0) return cudaSuccess;
  return with_element_type(dtype, [&]<typename T>(T) {
    column_sums_kernel<T><<<grid_for(tiles), kColumns * kSlices, 0, stream>>>(
        sums, partials, Outputs{{outputs[0], outputs[1]}});
    return cudaGetLastError();
  });
}

}  // namespace pantograph::kernels
