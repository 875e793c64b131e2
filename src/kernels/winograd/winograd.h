// The steps around the products of a Winograd convolution, 3 x 3 in space and any number of taps in
// time. Frames are cut into tiles of m x m pixels (m = 2, 4 or 6), which are read with a halo of
// one pixel; the (m + 2)^2 components of the tiles go through component_gemm, whose rows they are.
// All channels are multiples of 256, all tensors aligned to 16 bytes. For compute capability 9.0.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "geometry/winograd_tiles.h"
#include "pantograph/tensor_view.h"

namespace pantograph::kernels {

// v [components][frames][tiles][channels], f16, from x [frames, height, width, channels], bf16.
struct WinogradInput {
  geometry::WinogradTiles tiles;
  std::int64_t frames = 0, channels = 0;
  const void* x = nullptr;
  void* v = nullptr;
};
cudaError_t winograd_input(const WinogradInput& problem, cudaStream_t stream);

// What the next layer wants of y where it begins with a norm: normed [frames, height, width,
// channels] = silu(y / max(|y|_2, 1e-12) * sqrt(channels) * gamma), bf16, of y as it was rounded.
// In front of it is room for the frames of `history`, which are put there; then `history` holds the
// last frames of both. At most 2 frames of history, or as many as y has.
struct WinogradNorm {
  const float* gamma = nullptr;  // nullptr: no norm
  void* y = nullptr;
  void* history = nullptr;
  std::int64_t history_frames = 0;
};

// y [frames, height, width, channels], bf16, = inverse transform of m [components][frames][tiles]
// [channels], f16, + bias (+ residual).
struct WinogradOutput {
  geometry::WinogradTiles tiles;
  std::int64_t frames = 0, channels = 0;  // see takes_channels
  const void* m = nullptr;
  const float* bias = nullptr;
  const void* residual = nullptr;  // may be y
  void* y = nullptr;               // may be left out where there is a norm
  WinogradNorm norm;
  // A block holds all channels of a tile, because a norm needs them.
  static constexpr bool takes_channels(std::int64_t channels) {
    return channels == 256 || channels == 512 || channels == 1024;
  }
};
cudaError_t winograd_output(const WinogradOutput& problem, cudaStream_t stream);

// u [components][out][taps][in], f16, from w [out, in, taps, 3, 3], f32, bf16 or f16.
struct WinogradWeights {
  std::int64_t tile_size = 6;  // m
  std::int64_t out_channels = 0, in_channels = 0, taps = 0;
  DType dtype = DType::kF32;  // of w
  const void* w = nullptr;
  void* u = nullptr;
};
cudaError_t winograd_weights(const WinogradWeights& problem, cudaStream_t stream);

}  // namespace pantograph::kernels
