// From the numbers of a problem to the template arguments of a kernel.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "kernels/common/vector.cuh"
#include "kernels/token_ops/problem.h"

namespace pantograph::kernels {

template <typename Launch>
cudaError_t with_element_type(DType dtype, Launch launch) {
  switch (dtype) {
    case DType::kF32:
      return launch(float{});
    case DType::kBF16:
      return launch(__nv_bfloat16{});
    case DType::kF16:
      return launch(__half{});
    default:
      return cudaErrorInvalidValue;
  }
}

// Whether everything can move in 16-byte words: dense rows of `columns`, these strides, these
// pointers (nullptr is fine).
inline bool fits_vectors(DType dtype, std::int64_t columns,
                         std::initializer_list<std::int64_t> strides,
                         std::initializer_list<const void*> pointers) {
  const auto width = static_cast<std::int64_t>(16 / (dtype == DType::kF32 ? 4 : 2));
  return columns % width == 0 &&
         std::all_of(strides.begin(), strides.end(),
                     [&](std::int64_t stride) { return stride % width == 0; }) &&
         std::all_of(pointers.begin(), pointers.end(), [](const void* pointer) {
           return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
         });
}

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Whole warps that cover `items`, at most `limit` threads.
inline int threads_for(std::int64_t items, int limit) {
  return static_cast<int>(std::min<std::int64_t>(ceil_divide(items, 32) * 32, limit));
}

// Grid x for kernels that stride over `blocks` units of work.
inline unsigned grid_for(std::int64_t blocks) {
  return static_cast<unsigned>(std::min<std::int64_t>(blocks, 0x7fffffff));
}

// The samples as one where no stride tells them apart; spares the kernels divisions.
inline TokenShape join_samples(const TokenShape& shape, std::initializer_list<RowStrides> rows,
                               std::initializer_list<std::int64_t> table_strides) {
  const bool joined =
      std::all_of(rows.begin(), rows.end(),
                  [&](const RowStrides& r) { return r.batch == shape.tokens * r.token; }) &&
      std::all_of(table_strides.begin(), table_strides.end(),
                  [](std::int64_t stride) { return stride == 0; });
  return joined ? TokenShape{1, shape.rows(), shape.channels} : shape;
}

__device__ inline std::int64_t row_offset(const TokenShape& shape, const RowStrides& strides,
                                          std::int64_t row) {
  if (shape.batch == 1) return row * strides.token;
  const std::int64_t sample = row / shape.tokens;
  return sample * strides.batch + (row - sample * shape.tokens) * strides.token;
}

template <typename T>
__device__ const T* row_of(const TokenShape& shape, const Rows& rows, std::int64_t row) {
  return static_cast<const T*>(rows.data) + row_offset(shape, rows.strides, row);
}

// A table's entry for one row.
template <typename T>
__device__ const T* entry_of(const TokenShape& shape, const Table& table, std::int64_t row) {
  const std::int64_t sample = shape.batch == 1 || table.stride == 0 ? 0 : row / shape.tokens;
  return static_cast<const T*>(table.data) + sample * table.stride;
}

}  // namespace pantograph::kernels
