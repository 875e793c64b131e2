// Random values, and how far apart two tensors are: for choosing and checking, not for decoding.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "pantograph/tensor_view.h"

namespace pantograph::kernels {

// Values that look uniform in (-1, 1), the same for the same seed.
cudaError_t fill_random(DType dtype, void* target, std::int64_t count, std::uint32_t seed,
                        cudaStream_t stream);

// Sums over elements, added to what is there: zero it first.
struct Difference {
  double squared = 0;                   // of a - b
  double reference_squared = 0;         // of b
  float largest = 0;                    // |a - b|
  unsigned long long not_finite = 0;    // in a
  unsigned long long out_of_range = 0;  // |a| > 1
};
cudaError_t compare(DType dtype, const void* a, const void* b, std::int64_t count,
                    Difference* difference, cudaStream_t stream);

// Adds to *sum a number that depends on every one of `count` 32-bit words and its place; the same
// bits give the same number.
cudaError_t checksum(const void* data, std::int64_t count, unsigned long long* sum,
                     cudaStream_t stream);

}  // namespace pantograph::kernels
