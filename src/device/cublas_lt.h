// Matrix products by cuBLASLt, row-major.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pantograph/tensor_view.h"

namespace pantograph::device {

// C [rows, columns] = alpha A B; A [rows, depth], B [depth, columns] or its transpose stored.
// Strides are in elements, from one row to the next. f32 operands are multiplied as f32, never as
// TF32; bf16 ones are summed in f32.
struct MatrixProduct {
  std::int64_t rows = 0, columns = 0, depth = 0;
  DType operands = DType::kF32, result = DType::kF32;
  const void* a = nullptr;
  std::int64_t a_stride = 0;
  const void* b = nullptr;
  std::int64_t b_stride = 0;
  bool b_transposed = false;  // b is stored [columns, depth]
  void* c = nullptr;
  std::int64_t c_stride = 0;
  float alpha = 1;
};

inline constexpr std::size_t kCublasWorkspace = std::size_t{32} << 20;

// On the current device; `workspace` holds kCublasWorkspace bytes. Throws Error(kInternal).
void multiply(const MatrixProduct& product, void* workspace, void* stream);

}  // namespace pantograph::device
