// A thread for each filter of an input channel and a tap in time.
#include <cuda_fp16.h>

#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/winograd.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 128;

template <int kSize>
__global__ void __launch_bounds__(kThreads) weights_kernel(WinogradWeights p) {
  constexpr int kInputs = kSize + 2;
  constexpr auto kMatrix = to_floats(winograd<kSize>().weight);
  const std::int64_t filter = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t filters = p.out_channels * p.taps * p.in_channels;
  if (filter >= filters) return;
  const std::int64_t in = filter % p.in_channels, tap = filter / p.in_channels % p.taps;
  const std::int64_t out = filter / p.in_channels / p.taps;
  const float* w = p.w + ((out * p.in_channels + in) * p.taps + tap) * 9;
  float half[kInputs][3];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    const float a = w[j], b = w[3 + j], c = w[6 + j];
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      half[i][j] = kMatrix.at[i][0] * a + kMatrix.at[i][1] * b + kMatrix.at[i][2] * c;
    }
  }
  auto* u = static_cast<__half*>(p.u) + filter;
#pragma unroll
  for (int i = 0; i < kInputs; ++i) {
#pragma unroll
    for (int j = 0; j < kInputs; ++j, u += filters) {
      *u = __float2half_rn(kMatrix.at[j][0] * half[i][0] + kMatrix.at[j][1] * half[i][1] +
                           kMatrix.at[j][2] * half[i][2]);
    }
  }
}

}  // namespace

cudaError_t winograd_weights(const WinogradWeights& p, cudaStream_t stream) {
  const auto blocks =
      static_cast<unsigned>((p.out_channels * p.taps * p.in_channels + kThreads - 1) / kThreads);
  if (blocks == 0) return cudaSuccess;
  p.tile_size == 4 ? weights_kernel<4><<<blocks, kThreads, 0, stream>>>(p)
                   : weights_kernel<6><<<blocks, kThreads, 0, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace pantograph::kernels
