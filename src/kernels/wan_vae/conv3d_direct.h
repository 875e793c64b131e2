// Causal 3-D convolution in plain f32 arithmetic: the oracle of every other convolution on a GPU,
// the f32 path, and the last resort.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "pantograph/tensor_view.h"

namespace pantograph::kernels {

// y [T, H, W, out] from x [T + kt - 1, H, W, in] and weights [out, kt, kh, kw, in], stride 1, zeros
// around each frame as many as keep its size. Only `positions` positions from `first_position` on
// are made, numbered through T, H and W.
struct Conv3dDirect {
  DType dtype = DType::kF32;  // of x, weights and y
  std::int64_t frames = 0, height = 0, width = 0;
  std::int64_t in_channels = 0, out_channels = 0;
  std::int64_t kernel_time = 1, kernel_height = 1, kernel_width = 1;
  std::int64_t rows_above = 0, columns_left = 0;  // of zeros before each frame
  bool accumulate = false;                        // y holds the residual
  std::int64_t first_position = 0, positions = 0;
  const void* x = nullptr;
  const void* weights = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;  // whole; written at those positions
};
cudaError_t conv3d_direct(const Conv3dDirect& problem, cudaStream_t stream);

}  // namespace pantograph::kernels
