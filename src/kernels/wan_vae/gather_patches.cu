#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kVector = 8;  // channels of a thread: 16 bytes

__global__ void __launch_bounds__(kThreads) gather_patches_kernel(GatherPatches p) {
  const std::int64_t vectors = p.patch_channels / kVector;
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t position = index / vectors, first = index % vectors * kVector;
  if (position >= p.frames * p.height * p.width) return;
  const std::int64_t tap = first / p.channels, channel = first % p.channels;
  const std::int64_t row = position / p.width % p.height + tap / 3 - 1;
  const std::int64_t column = position % p.width + tap % 3 - 1;
  uint4 values{};
  if (tap < 9 && row >= 0 && row < p.height && column >= 0 && column < p.width) {
    const std::int64_t frame = position / p.width / p.height;
    const auto* x = static_cast<const __nv_bfloat16*>(p.x) +
                    ((frame * p.height + row) * p.width + column) * p.channels + channel;
    values = __ldg(reinterpret_cast<const uint4*>(x));
  }
  static_cast<uint4*>(p.patches)[index] = values;
}

}  // namespace

cudaError_t gather_patches(const GatherPatches& p, cudaStream_t stream) {
  if (p.channels % kVector != 0 || p.patch_channels % kVector != 0 ||
      p.patch_channels < 9 * p.channels) {
    return cudaErrorInvalidValue;
  }
  const std::int64_t threads = p.frames * p.height * p.width * (p.patch_channels / kVector);
  if (threads == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  gather_patches_kernel<<<blocks, kThreads, 0, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace pantograph::kernels
