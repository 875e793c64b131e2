// Activations of a sequence model: rows are tokens, columns are channels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

// Columns are dense; rows stand `stride` elements apart, so that a range of columns is a view too.
struct RowsView {
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0, columns = 0, stride = 0;

  static RowsView dense(float* values, std::int64_t rows, std::int64_t columns) {
    return {.data = reinterpret_cast<std::byte*>(values),
            .dtype = DType::kF32,
            .rows = rows,
            .columns = columns,
            .stride = columns};
  }

  [[nodiscard]] float* f32() const { return reinterpret_cast<float*>(data); }
  [[nodiscard]] float* f32_row(std::int64_t row) const { return f32() + row * stride; }

  [[nodiscard]] RowsView slice_rows(std::int64_t begin, std::int64_t count) const {
    RowsView part = moved(begin * stride);
    part.rows = count;
    return part;
  }
  [[nodiscard]] RowsView slice_columns(std::int64_t begin, std::int64_t count) const {
    RowsView part = moved(begin);
    part.columns = count;
    return part;
  }

 private:
  [[nodiscard]] RowsView moved(std::int64_t elements) const {
    RowsView part = *this;
    // While planning there is no memory yet, and no arithmetic on its address.
    if (data != nullptr) part.data += elements * static_cast<std::int64_t>(size_of(dtype));
    return part;
  }
};

// Rows that own their block.
class OwnedRows {
 public:
  OwnedRows() = default;
  OwnedRows(Arena& arena, DType dtype, std::int64_t rows, std::int64_t columns)
      : block_(arena.take(static_cast<std::size_t>(rows * columns) * size_of(dtype))),
        view_{.data = block_.data(),
              .dtype = dtype,
              .rows = rows,
              .columns = columns,
              .stride = columns} {}

  [[nodiscard]] const RowsView& view() const { return view_; }
  const RowsView* operator->() const { return &view_; }
  void release() { block_.release(); }

 private:
  Arena::Block block_;
  RowsView view_;
};

}  // namespace pantograph
