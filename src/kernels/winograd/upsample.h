// The steps around the products of the decoder's spatial upsampler: frames twice as high and wide
// by repetition, then a 3 x 3 convolution, by 25 products of 16 transformed inputs for 16 outputs.
// Tiles are of 2 x 2 pixels of x, read with a halo of one pixel, and become 4 x 4 pixels of y. All
// channels are multiples of 256, all tensors aligned to 16 bytes. For compute capability 9.0.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "geometry/upsample.h"
#include "geometry/winograd_tiles.h"
#include "geometry/winograd_upsample.h"
#include "kernels/winograd/winograd.h"

namespace pantograph::kernels {

inline constexpr std::int64_t kUpsampleProducts =
    geometry::WinogradUpsample::kProducts * geometry::WinogradUpsample::kProducts;

// x is a residual stream, whose range is unknown before it is there: it is multiplied by the power
// of two that keeps f16 from overflowing, and the products are divided by it again.
struct F16Range {
  const float* largest = nullptr;  // |x|, on the device
  float gain = 1;                  // a bound on everything in f16 where |x| is 1
};

// Raises *largest, which is not negative, to the largest |x| of `count` values, bf16, a multiple of
// 8; NaN counts as more than infinity.
cudaError_t find_largest(const void* x, std::int64_t count, float* largest, cudaStream_t stream);

// v [16][frames][tiles][channels], f16, from x [frames / copies, height, width, copies channels],
// bf16: the copies at a position are frames one after the other.
struct UpsampleInput {
  geometry::WinogradTiles tiles;  // of size 2, of a frame of x
  std::int64_t frames = 0, channels = 0, copies = 1;
  const void* x = nullptr;
  F16Range range;
  void* v = nullptr;
};
cudaError_t upsample_input(const UpsampleInput& problem, cudaStream_t stream);

// y [frames, 2 height, 2 width, channels], bf16, = inverse transform of m [25][frames][tiles]
// [channels], f16, + bias + the shortcut, of frames as large as x's.
struct UpsampleOutput {
  geometry::WinogradTiles tiles;          // as the input's
  geometry::DuplicateUpsample duplicate;  // the shortcut's sizes, and y's
  const void* m = nullptr;
  const float* bias = nullptr;
  const void* shortcut = nullptr;
  F16Range range;
  void* y = nullptr;
  WinogradNorm norm;
  // Of a pixel's channels the shortcut's lie side by side: y's own ones or, where it has twice as
  // many, one of each two.
  static constexpr bool takes(const geometry::DuplicateUpsample& p) {
    const std::int64_t out = p.out_channels;
    return (out == 256 || out == 512 || out == 1024) && p.temporal_factor <= 2 &&
           (p.in_channels == out || p.in_channels == 2 * out);
  }
};
cudaError_t upsample_output(const UpsampleOutput& problem, cudaStream_t stream);

// u [25][out][in], f16, from w [out, in, 3, 3], f32, bf16 or f16.
struct UpsampleWeights {
  std::int64_t out_channels = 0, in_channels = 0;
  DType dtype = DType::kF32;  // of w
  const void* w = nullptr;
  void* u = nullptr;
};
cudaError_t upsample_weights(const UpsampleWeights& problem, cudaStream_t stream);

}  // namespace pantograph::kernels
