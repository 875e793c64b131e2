// Gradients that are sums over rows, in two launches: each block of the first adds up the rows
// slot, slot + slots, ... of one group and writes a partial sum; the second adds the partials.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/token_ops/problem.h"

namespace pantograph::kernels {

struct PartialSums {
  std::int64_t groups = 0;  // one for each sum wanted: the samples, or 1 over all of them
  std::int64_t rows_per_group = 0;
  std::int64_t slots = 0;  // partial sums of each group, 0 where there are no rows
  int parts = 0;           // quantities summed side by side
  std::int64_t columns = 0;

  // As many slots as about `blocks` blocks need; `shared`: one group for the whole batch.
  static PartialSums plan(const TokenShape& shape, bool shared, int parts, std::int64_t blocks);
  [[nodiscard]] std::int64_t blocks() const { return groups * slots; }
  [[nodiscard]] std::int64_t bytes() const { return blocks() * parts * columns * 4; }
};

// partials [groups, slots, parts, columns] -> outputs[part] [groups, columns].
cudaError_t column_sums(const PartialSums& sums, const float* partials, DType dtype,
                        void* const (&outputs)[2], cudaStream_t stream);

}  // namespace pantograph::kernels
