#include <cuda_fp16.h>

#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/dispatch.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;

__device__ float latent(const LoadLatents& p, std::int64_t c, std::int64_t frame, std::int64_t row,
                        std::int64_t column) {
  const std::int64_t at =
      c * p.strides[0] + frame * p.strides[1] + row * p.strides[2] + column * p.strides[3];
  switch (p.latents_dtype) {
    case DType::kBF16:
      return to_float(static_cast<const __nv_bfloat16*>(p.latents)[at]);
    case DType::kF16:
      return to_float(static_cast<const __half*>(p.latents)[at]);
    default:
      return static_cast<const float*>(p.latents)[at];
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) load_kernel(LoadLatents p) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t c = i % p.channels, position = i / p.channels;
  const std::int64_t frame = position / (p.height * p.width);
  if (frame >= p.frames) return;
  const std::int64_t row = position / p.width % p.height, column = position % p.width;
  round_to(latent(p, c, frame, row, column) * p.scale[c] + p.shift[c], static_cast<T*>(p.y)[i]);
}

__global__ void __launch_bounds__(kThreads) finite_kernel(LoadLatents p, int* frame) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t plane = p.height * p.width, in_frame = i % plane;
  const std::int64_t f = i / plane % p.frames, c = i / plane / p.frames;
  if (c >= p.channels) return;
  if (!isfinite(latent(p, c, f, in_frame / p.width, in_frame % p.width))) {
    atomicMin(frame, static_cast<int>(f));
  }
}

unsigned blocks_for(const LoadLatents& p) {
  const std::int64_t count = p.frames * p.height * p.width * p.channels;
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

}  // namespace

cudaError_t load_latents(const LoadLatents& p, cudaStream_t stream) {
  if (blocks_for(p) == 0) return cudaSuccess;
  return with_activation_type(
      p.dtype, [&]<typename T>(T) { load_kernel<T><<<blocks_for(p), kThreads, 0, stream>>>(p); });
}

cudaError_t first_frame_not_finite(const LoadLatents& p, int* frame, cudaStream_t stream) {
  if (blocks_for(p) == 0) return cudaSuccess;
  finite_kernel<<<blocks_for(p), kThreads, 0, stream>>>(p, frame);
  return cudaGetLastError();
}

}  // namespace pantograph::kernels
