// A block for each row; the row is read three times, from the L2 cache after the first.
#include "kernels/common/reduce.cuh"
#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/dispatch.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;

__device__ float max_over_block(float value) {
  __shared__ float partials[kThreads / 32];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, distance));
  }
  if (threadIdx.x % 32 == 0) partials[threadIdx.x / 32] = value;
  __syncthreads();
  for (const float partial : partials) value = fmaxf(value, partial);
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) softmax_kernel(Softmax problem) {
  __shared__ float partials[1][32];
  const std::int64_t columns = problem.columns;
  const float* s = problem.s + std::int64_t{blockIdx.x} * columns;
  T* p = static_cast<T*>(problem.p) + std::int64_t{blockIdx.x} * columns;
  float largest = s[0];
  for (std::int64_t i = threadIdx.x; i < columns; i += kThreads) largest = fmaxf(largest, s[i]);
  largest = max_over_block(largest);
  float sum[1] = {0};
  for (std::int64_t i = threadIdx.x; i < columns; i += kThreads) {
    sum[0] += expf((s[i] - largest) * problem.scale);
  }
  sum_over_block(sum, partials);
  const float inverse = 1.0F / sum[0];
  for (std::int64_t i = threadIdx.x; i < columns; i += kThreads) {
    round_to(expf((s[i] - largest) * problem.scale) * inverse, p[i]);
  }
}

}  // namespace

cudaError_t softmax(const Softmax& p, cudaStream_t stream) {
  if (p.rows == 0) return cudaSuccess;
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    softmax_kernel<T><<<static_cast<unsigned>(p.rows), kThreads, 0, stream>>>(p);
  });
}

}  // namespace pantograph::kernels
