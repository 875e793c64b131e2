#include <algorithm>

#include "kernels/common/processors.h"
#include "kernels/winograd/upsample.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256, kBlocksPerProcessor = 8;

// The sizes of two bf16 at a time, as whole numbers: they are in the same order.
__device__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return __vmaxu2(a, b & 0x7fff7fffU);
}

__global__ void __launch_bounds__(kThreads)
    find_largest_kernel(const uint4* x, std::int64_t packs, std::uint32_t* largest) {
  std::uint32_t pair = 0;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < packs; i += step) {
    const uint4 pack = x[i];
    pair = larger(larger(larger(larger(pair, pack.x), pack.y), pack.z), pack.w);
  }
  const std::uint32_t of_warp = __reduce_max_sync(0xffffffffU, max(pair << 16, pair & 0xffff0000U));
  if (threadIdx.x % 32 == 0) atomicMax(largest, of_warp);
}

}  // namespace

cudaError_t find_largest(const void* x, std::int64_t count, float* largest, cudaStream_t stream) {
  const std::int64_t packs = count / 8;
  if (packs == 0) return cudaSuccess;
  int processors = 0;
  const cudaError_t status = count_processors(processors);
  if (status != cudaSuccess) return status;
  const std::int64_t blocks = std::min<std::int64_t>(std::int64_t{processors} * kBlocksPerProcessor,
                                                     (packs + kThreads - 1) / kThreads);
  find_largest_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<const uint4*>(x), packs, reinterpret_cast<std::uint32_t*>(largest));
  return cudaGetLastError();
}

}  // namespace pantograph::kernels
