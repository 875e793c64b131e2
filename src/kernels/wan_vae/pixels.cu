// The last layer's patches to pictures. The colour arithmetic is the CPU's, so the bytes are too:
// compiled without fused multiply-adds.
#include "geometry/color.h"
#include "geometry/patch.h"
#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/dispatch.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;

// Reads pixels of one frame out of its patches, clamped to [-1, 1]; NaN stays NaN.
template <typename T>
struct Frame {
  const T* x;
  std::int64_t height, width, patch;  // height and width of the picture

  __device__ float at(std::int64_t row, std::int64_t column, std::int64_t k) const {
    const std::int64_t channels = 3 * patch * patch;
    const T* in = x + (row / patch * (width / patch) + column / patch) * channels;
    const float v = to_float(in[geometry::patch_channel(patch, row % patch, column % patch, k)]);
    return v > 1 ? 1 : (v < -1 ? -1 : v);
  }
  // The nearest pixel inside the frame, in [0, 1].
  __device__ geometry::Rgb unit(std::int64_t row, std::int64_t column) const {
    row = row < 0 ? 0 : (row >= height ? height - 1 : row);
    column = column < 0 ? 0 : (column >= width ? width - 1 : column);
    return {geometry::to_unit(at(row, column, 0)), geometry::to_unit(at(row, column, 1)),
            geometry::to_unit(at(row, column, 2))};
  }
};

template <typename T>
__device__ Frame<T> frame_of(const Pixels& p, std::int64_t frame) {
  return {static_cast<const T*>(p.x) + frame * p.height * p.width * 3 * p.patch * p.patch,
          p.patch * p.height, p.patch * p.width, p.patch};
}

// grid: x over the picture's pixels, y over frames
template <typename T, typename Out>
__global__ void __launch_bounds__(kThreads) rgb_kernel(Pixels p) {
  const Frame<T> frame = frame_of<T>(p, blockIdx.y);
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t row = i / frame.width, column = i % frame.width;
  if (row >= frame.height) return;
  Out* out =
      static_cast<Out*>(p.pixels) + (std::int64_t{blockIdx.y} * frame.height * frame.width + i) * 3;
  for (int k = 0; k < 3; ++k) {
    const float v = frame.at(row, column, k);
    if constexpr (sizeof(Out) == 1) {
      out[k] = geometry::rgb_byte(v);
    } else {
      out[k] = v;
    }
  }
}

// A thread for each chroma sample and its up to four luma samples.
template <typename T>
__global__ void __launch_bounds__(kThreads) yuv_kernel(Pixels p) {
  const Frame<T> frame = frame_of<T>(p, blockIdx.y);
  const std::int64_t chroma_width = (frame.width + 1) / 2, chroma_height = (frame.height + 1) / 2;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t row = i / chroma_width, column = i % chroma_width;
  if (row >= chroma_height) return;
  const std::int64_t luma_bytes = frame.height * frame.width;
  const std::int64_t chroma_bytes = chroma_height * chroma_width;
  auto* y = static_cast<std::uint8_t*>(p.pixels) +
            std::int64_t{blockIdx.y} * (luma_bytes + 2 * chroma_bytes);
  geometry::Rgb mean;
  for (int dy = 0; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      const std::int64_t r = 2 * row + dy, c = 2 * column + dx;
      const geometry::Rgb pixel = frame.unit(r, c);
      const float weight = geometry::chroma_weight(dx);
      mean.r += weight * pixel.r;
      mean.g += weight * pixel.g;
      mean.b += weight * pixel.b;
      if (dx >= 0 && r < frame.height && c < frame.width) {
        y[r * frame.width + c] = geometry::luma_byte(pixel);
      }
    }
  }
  y[luma_bytes + i] = geometry::cb_byte(mean);
  y[luma_bytes + chroma_bytes + i] = geometry::cr_byte(mean);
}

dim3 grid_for(std::int64_t threads, std::int64_t frames) {
  return {static_cast<unsigned>((threads + kThreads - 1) / kThreads),
          static_cast<unsigned>(frames)};
}

}  // namespace

cudaError_t unpatchify(const Pixels& p, cudaStream_t stream) {
  if (p.frames == 0) return cudaSuccess;
  if (p.frames > 65535) return cudaErrorInvalidValue;  // beyond the limit of grid y
  const std::int64_t height = p.patch * p.height, width = p.patch * p.width;
  const dim3 pixels = grid_for(height * width, p.frames);
  const dim3 chroma = grid_for(((height + 1) / 2) * ((width + 1) / 2), p.frames);
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    switch (p.layout) {
      case PixelLayout::kRgbF32:
        return rgb_kernel<T, float><<<pixels, kThreads, 0, stream>>>(p);
      case PixelLayout::kRgb24:
        return rgb_kernel<T, std::uint8_t><<<pixels, kThreads, 0, stream>>>(p);
      case PixelLayout::kYuv420:
        return yuv_kernel<T><<<chroma, kThreads, 0, stream>>>(p);
    }
  });
}

}  // namespace pantograph::kernels
