// A thread for four channels of a pixel.
#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256, kChannels = 4;

// grid: x over a row's threads, y over rows of all frames
template <typename T>
__global__ void __launch_bounds__(kThreads) sum_taps_kernel(SumTaps p) {
  const std::int64_t parts = p.channels / kChannels;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t column = i / parts, c = i % parts * kChannels;
  if (column >= p.width) return;
  const std::int64_t line = blockIdx.y + std::int64_t{blockIdx.z} * gridDim.y;
  if (line >= p.frames * p.height) return;
  const std::int64_t row = line % p.height;
  float sums[kChannels] = {};
  const auto* source =
      static_cast<const T*>(p.parts) + (line * p.width + column) * p.part_channels + c;
#pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
    const int down = tap / 3 - 1, right = tap % 3 - 1;
    if (row + down < 0 || row + down >= p.height || column + right < 0 ||
        column + right >= p.width) {
      continue;
    }
    const T* part = source + (down * p.width + right) * p.part_channels + tap * p.channels;
    const uint2 word = __ldg(reinterpret_cast<const uint2*>(part));
    Pack<T, kChannels> pack;
    std::memcpy(&pack, &word, sizeof word);
    const Floats<kChannels> values = to_floats(pack);
#pragma unroll
    for (int k = 0; k < kChannels; ++k) sums[k] += values.at[k];
  }
  auto* y = static_cast<__nv_bfloat16*>(p.y) + (line * p.width + column) * p.channels + c;
#pragma unroll
  for (int k = 0; k < kChannels; ++k) y[k] = __float2bfloat16_rn(sums[k]);
}

}  // namespace

cudaError_t sum_taps(const SumTaps& p, cudaStream_t stream) {
  if (p.channels % kChannels != 0 || p.part_channels % kChannels != 0) return cudaErrorInvalidValue;
  const std::int64_t lines = p.frames * p.height, threads = p.width * (p.channels / kChannels);
  if (lines == 0 || threads == 0) return cudaSuccess;
  constexpr std::int64_t kMostBlocks = 65535;  // of a grid's y and z
  const std::int64_t y = lines < kMostBlocks ? lines : kMostBlocks;
  const dim3 grid(static_cast<unsigned>((threads + kThreads - 1) / kThreads),
                  static_cast<unsigned>(y), static_cast<unsigned>((lines + y - 1) / y));
  switch (p.dtype) {
    case DType::kF16:
      sum_taps_kernel<__half><<<grid, kThreads, 0, stream>>>(p);
      break;
    case DType::kBF16:
      sum_taps_kernel<__nv_bfloat16><<<grid, kThreads, 0, stream>>>(p);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

}  // namespace pantograph::kernels
