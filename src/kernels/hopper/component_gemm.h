// Many products of matrices at a time, over shifted rows: what convolutions come down to.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "pantograph/tensor_view.h"

namespace pantograph::kernels {

// y[g][r][n] = sum over t < taps, c < in_channels of a[a_of[g]][r + t tap_rows][c] b[g][n][t][c]
// (+ bias[n]), summed in f32. Rows of a beyond a_rows count as zero. All tensors are aligned to 16
// bytes.
struct ComponentGemm {
  static constexpr std::int64_t kMostComponents = 64;
  DType dtype = DType::kF16;    // of a and b: kF16 or kBF16
  DType y_dtype = DType::kF16;  // as `dtype`, or kF16
  std::int64_t components = 0;  // of b and y
  std::int64_t a_components = 0;
  std::array<std::uint8_t, kMostComponents> a_of{};
  std::int64_t rows = 0, a_rows = 0;
  std::int64_t in_channels = 0;   // a multiple of 64
  std::int64_t out_channels = 0;  // a multiple of 256, or 128 with bf16 operands and an f16 y
  std::int64_t taps = 1, tap_rows = 0;
  const void* a = nullptr;      // [a_components][a_rows][in_channels]
  const void* b = nullptr;      // [components][out_channels][taps][in_channels]
  const float* bias = nullptr;  // [out_channels], or nullptr
  void* y = nullptr;            // [components][rows][out_channels]
};
// For compute capability 9.0 alone.
cudaError_t component_gemm(const ComponentGemm& problem, cudaStream_t stream);

}  // namespace pantograph::kernels
