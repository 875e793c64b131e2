// A thread for each filter of an input channel and a tap in time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <iterator>

#include "geometry/winograd_upsample.h"
#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/upsample.h"
#include "kernels/winograd/winograd.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 128;

template <int kSize>
struct Convolution {
  static constexpr auto matrix() { return to_floats(winograd<kSize>().weight); }
};
struct Upsample {
  static constexpr auto matrix() { return to_floats(geometry::kWinogradUpsample.weight); }
};

template <typename Way, typename W>
__global__ void __launch_bounds__(kThreads) weights_kernel(WinogradWeights p) {
  constexpr auto kMatrix = Way::matrix();
  constexpr int kInputs = static_cast<int>(std::size(kMatrix.at));
  const std::int64_t filter = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t filters = p.out_channels * p.taps * p.in_channels;
  if (filter >= filters) return;
  const std::int64_t in = filter % p.in_channels, tap = filter / p.in_channels % p.taps;
  const std::int64_t out = filter / p.in_channels / p.taps;
  const W* w = static_cast<const W*>(p.w) + ((out * p.in_channels + in) * p.taps + tap) * 9;
  float half[kInputs][3];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    const auto a = static_cast<float>(w[j]), b = static_cast<float>(w[3 + j]);
    const auto c = static_cast<float>(w[6 + j]);
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

template <typename Way>
cudaError_t launch(const WinogradWeights& p, cudaStream_t stream) {
  const auto blocks =
      static_cast<unsigned>((p.out_channels * p.taps * p.in_channels + kThreads - 1) / kThreads);
  if (blocks == 0) return cudaSuccess;
  switch (p.dtype) {
    case DType::kF32:
      weights_kernel<Way, float><<<blocks, kThreads, 0, stream>>>(p);
      break;
    case DType::kBF16:
      weights_kernel<Way, __nv_bfloat16><<<blocks, kThreads, 0, stream>>>(p);
      break;
    case DType::kF16:
      weights_kernel<Way, __half><<<blocks, kThreads, 0, stream>>>(p);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t winograd_weights(const WinogradWeights& p, cudaStream_t stream) {
  const auto run_size = [&]<std::size_t kSize>(const geometry::Winograd<kSize, 3>&) {
    return launch<Convolution<kSize>>(p, stream);
  };
  return geometry::with_winograd(p.tile_size, run_size);
}

cudaError_t upsample_weights(const UpsampleWeights& p, cudaStream_t stream) {
  return launch<Upsample>({.out_channels = p.out_channels,
                           .in_channels = p.in_channels,
                           .taps = 1,
                           .dtype = p.dtype,
                           .w = p.w,
                           .u = p.u},
                          stream);
}

}  // namespace pantograph::kernels
