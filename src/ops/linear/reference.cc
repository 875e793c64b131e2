// A linear layer as plain loops in fp32: documentation and oracle.
#include "core/parallel.h"
#include "ops/linear/linear.h"

namespace pantograph::ops {

void reference_linear(const LinearWeights& weights, const RowsView& x, const RowsView& y,
                      Store store) {
  const std::vector<float> w = weights.to_f32();
  parallel_for(x.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* in = x.f32_row(row);
      float* out = y.f32_row(row);
      for (std::int64_t o = 0; o < y.columns; ++o) {
        float sum = weights.bias().empty() ? 0 : weights.bias()[static_cast<std::size_t>(o)];
        for (std::int64_t i = 0; i < x.columns; ++i) {
          sum += in[i] * w[static_cast<std::size_t>(o * x.columns + i)];
        }
        out[o] = store == Store::kAdd ? out[o] + sum : sum;
      }
    }
  });
}

}  // namespace pantograph::ops
