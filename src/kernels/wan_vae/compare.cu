#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/compare.h"
#include "kernels/wan_vae/dispatch.cuh"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kBlocks = 2048;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(T* target, std::int64_t count, std::uint32_t seed) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads) {
    std::uint32_t bits = static_cast<std::uint32_t>(i) * 0x9e3779b9U ^ seed;
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bU;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35U;
    bits ^= bits >> 16;
    round_to(static_cast<float>(bits) * 0x1p-31F - 1.0F, target[i]);
  }
}

template <typename V>
__device__ V sum_over_warp(V value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  }
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    compare_kernel(const T* a, const T* b, std::int64_t count, Difference* result) {
  Difference mine;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads) {
    const float value = to_float(a[i]), reference = to_float(b[i]), d = value - reference;
    if (!isfinite(value)) {
      ++mine.not_finite;
      continue;
    }
    if (fabsf(value) > 1) ++mine.out_of_range;
    mine.squared += static_cast<double>(d) * d;
    mine.reference_squared += static_cast<double>(reference) * reference;
    mine.largest = fmaxf(mine.largest, fabsf(d));
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    mine.largest = fmaxf(mine.largest, __shfl_xor_sync(0xffffffffU, mine.largest, distance));
  }
  mine.squared = sum_over_warp(mine.squared);
  mine.reference_squared = sum_over_warp(mine.reference_squared);
  mine.not_finite = sum_over_warp(mine.not_finite);
  mine.out_of_range = sum_over_warp(mine.out_of_range);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&result->squared, mine.squared);
  atomicAdd(&result->reference_squared, mine.reference_squared);
  atomicAdd(&result->not_finite, mine.not_finite);
  atomicAdd(&result->out_of_range, mine.out_of_range);
  // Floats that are not negative are ordered as their bits are.
  atomicMax(reinterpret_cast<int*>(&result->largest), __float_as_int(mine.largest));
}

__global__ void __launch_bounds__(kThreads)
    checksum_kernel(const std::uint32_t* data, std::int64_t count, unsigned long long* result) {
  unsigned long long sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads) {
    sum += data[i] * (2 * static_cast<unsigned long long>(i) + 1);
  }
  sum = sum_over_warp(sum);
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

}  // namespace

cudaError_t checksum(const void* data, std::int64_t count, unsigned long long* sum,
                     cudaStream_t stream) {
  checksum_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const std::uint32_t*>(data), count,
                                                    sum);
  return cudaGetLastError();
}

cudaError_t fill_random(DType dtype, void* target, std::int64_t count, std::uint32_t seed,
                        cudaStream_t stream) {
  return with_activation_type(dtype, [&]<typename T>(T) {
    fill_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(target), count, seed);
  });
}

cudaError_t compare(DType dtype, const void* a, const void* b, std::int64_t count,
                    Difference* difference, cudaStream_t stream) {
  return with_activation_type(dtype, [&]<typename T>(T) {
    compare_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const T*>(a),
                                                     static_cast<const T*>(b), count, difference);
  });
}

}  // namespace pantograph::kernels
