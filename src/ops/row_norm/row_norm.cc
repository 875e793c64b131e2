#include "ops/row_norm/row_norm.h"

#include <cmath>

#include "core/parallel.h"
#include "ops/rms_norm/silu.h"

namespace pantograph::ops {
namespace {

PANTOGRAPH_VECTOR_CLONES
void norm_row(const float* x, const float* weight, std::int64_t count, double eps, float* y) {
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < count; ++i) squares += double{x[i]} * double{x[i]};
  const auto scale = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + eps));
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * scale * weight[i];
}

}  // namespace

void row_rms_norm(const Context& context, const RowsView& x, std::span<const float> weight,
                  double eps, const RowsView& y) {
  require(x.rows == y.rows && x.columns == y.columns &&
              x.columns == static_cast<std::int64_t>(weight.size()),
          "row_rms_norm: x [", x.rows, ", ", x.columns, "] and y [", y.rows, ", ", y.columns,
          "] with ", weight.size(), " weights");
  if (context.planning) return;
  parallel_for(x.rows, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      norm_row(x.f32_row(row), weight.data(), x.columns, eps, y.f32_row(row));
    }
  });
}

}  // namespace pantograph::ops
