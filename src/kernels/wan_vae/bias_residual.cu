#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/dispatch.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;

// A thread for V neighbouring channels of one row.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) bias_residual_kernel(BiasResidual p) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t packs = p.channels / V, row = i / packs, c = i % packs * V;
  if (row >= p.rows) return;
  T* y = static_cast<T*>(p.y) + row * p.channels + c;
  Floats<V> sum = to_floats(load_once<V>(static_cast<const T*>(p.x) + row * p.x_channels + c));
#pragma unroll
  for (int j = 0; j < V; ++j) sum.at[j] += __ldg(p.bias + c + j);
  if (p.accumulate) {
    const Floats<V> before = to_floats(load_once<V>(static_cast<const T*>(y)));
#pragma unroll
    for (int j = 0; j < V; ++j) sum.at[j] += before.at[j];
  }
  store(y, round_to<T>(sum));
}

}  // namespace

cudaError_t bias_residual(const BiasResidual& p, cudaStream_t stream) {
  if (p.rows == 0) return cudaSuccess;
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    constexpr int V = kVectorWidth<T>;
    const bool packs = p.channels % V == 0 && p.x_channels % V == 0;
    const std::int64_t threads = p.rows * (packs ? p.channels / V : p.channels);
    const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
    packs ? bias_residual_kernel<T, V><<<blocks, kThreads, 0, stream>>>(p)
          : bias_residual_kernel<T, 1><<<blocks, kThreads, 0, stream>>>(p);
  });
}

}  // namespace pantograph::kernels
