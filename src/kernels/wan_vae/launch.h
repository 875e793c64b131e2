// The pointwise steps of the Wan2.2 VAE on a GPU: each call checks nothing, allocates nothing and
// returns after launching. Activations are channels last, [T, H, W, C], dense, f32 or bf16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "geometry/upsample.h"
#include "pantograph/frame_sink.h"
#include "pantograph/tensor_view.h"

namespace pantograph::kernels {

// y = act(x / max(|x|_2, 1e-12) * sqrt(C) * gamma) for each of `rows` positions; y may be x.
// Where there is a history, its rows go in front of y, and it becomes the last history_rows rows of
// the two together.
struct RmsNorm {
  DType dtype = DType::kF32;
  std::int64_t rows = 0, channels = 0;
  bool silu = false;
  const void* x = nullptr;
  const float* gamma = nullptr;
  void* y = nullptr;
  void* history = nullptr;
  std::int64_t history_rows = 0;
};
cudaError_t rms_norm(const RmsNorm& problem, cudaStream_t stream);

// y [copies T, 2 H, 2 W, C] from x [T, H, W, copies C]: nearest neighbour, and the copies at a
// position are frames one after the other.
struct NearestUpsample {
  DType dtype = DType::kF32;
  std::int64_t frames = 0, height = 0, width = 0, channels = 0, copies = 1;  // of x; channels of y
  const void* x = nullptr;
  void* y = nullptr;
};
cudaError_t nearest_upsample(const NearestUpsample& problem, cudaStream_t stream);

// y [copies T, H, W, C] from x [T, H, W, copies C].
cudaError_t split_frames(const NearestUpsample& problem, cudaStream_t stream);

cudaError_t duplicate_upsample(const geometry::DuplicateUpsample& shape, DType dtype, const void* x,
                               void* y, cudaStream_t stream);

// The same with something added, at every second row of y: even [F, H, W, C] at the even columns,
// odd at the odd ones.
struct JoinColumns {
  DType dtype = DType::kF32;
  geometry::DuplicateUpsample duplicate;
  std::int64_t row = 0;  // the first of these rows: 0 or 1
  const void* x = nullptr;
  const void* even = nullptr;
  const void* odd = nullptr;
  void* y = nullptr;
};
cudaError_t join_columns(const JoinColumns& problem, cudaStream_t stream);

// y [T, H, W, C] = latents * scale + shift, from latents [C, T, H, W] of any strides (in elements).
struct LoadLatents {
  DType latents_dtype = DType::kF32, dtype = DType::kF32;
  std::int64_t frames = 0, height = 0, width = 0, channels = 0;
  std::int64_t strides[4] = {};
  const void* latents = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  void* y = nullptr;
};
cudaError_t load_latents(const LoadLatents& problem, cudaStream_t stream);
// Lowers *frame to the first frame that holds a value that is not finite; the rest of the struct's
// output side is not used.
cudaError_t first_frame_not_finite(const LoadLatents& problem, int* frame, cudaStream_t stream);

// x [T, H, W, 3 p p] to pictures of p H x p W in the layout given, `frame_bytes` from one to the
// next.
struct Pixels {
  DType dtype = DType::kF32;
  std::int64_t frames = 0, height = 0, width = 0, patch = 1;
  PixelLayout layout = PixelLayout::kRgbF32;
  const void* x = nullptr;
  void* pixels = nullptr;
};
cudaError_t unpatchify(const Pixels& problem, cudaStream_t stream);

// p = softmax(scale * s) along the rows of s [rows, columns], f32; p may be s where it is f32 too.
struct Softmax {
  DType dtype = DType::kF32;  // of p
  std::int64_t rows = 0, columns = 0;
  float scale = 1;
  const float* s = nullptr;
  void* p = nullptr;
};
cudaError_t softmax(const Softmax& problem, cudaStream_t stream);

// y [rows, channels] = x + bias (+ y), where x has rows of `x_channels` >= channels.
struct BiasResidual {
  DType dtype = DType::kF32;
  std::int64_t rows = 0, channels = 0, x_channels = 0;
  bool accumulate = false;
  const void* x = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;
};
cudaError_t bias_residual(const BiasResidual& problem, cudaStream_t stream);

// patches [frames, height, width, patch_channels] from x [frames, height, width, channels], bf16:
// the channels of the 3 x 3 pixels around each one, row by row, zeros where there are none and in
// what is left of patch_channels. Multiples of 8 channels, aligned to 16 bytes.
struct GatherPatches {
  std::int64_t frames = 0, height = 0, width = 0, channels = 0, patch_channels = 0;
  const void* x = nullptr;
  void* patches = nullptr;
};
cudaError_t gather_patches(const GatherPatches& problem, cudaStream_t stream);

// y [frames, height, width, channels], bf16, = the sum over the taps (i, j) of a 3 x 3 convolution
// of parts [frames, height, width, part_channels], f16 or bf16, at row + i - 1 and column + j - 1,
// channels from (3 i + j) channels on; what lies outside of a frame counts as zero. A multiple of 4
// channels.
struct SumTaps {
  DType dtype = DType::kF16;  // of parts
  std::int64_t frames = 0, height = 0, width = 0, channels = 0, part_channels = 0;
  const void* parts = nullptr;
  void* y = nullptr;
};
cudaError_t sum_taps(const SumTaps& problem, cudaStream_t stream);

}  // namespace pantograph::kernels
