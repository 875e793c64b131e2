// Descriptions of tensors for bulk copies.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "pantograph/tensor_view.h"

namespace pantograph::kernels {

// How the rows of a box lie in shared memory: kBanks spreads the 16-byte parts of 8 rows of 128
// bytes over all banks, as products and stmatrix want them.
enum class Swizzle : std::uint8_t { kNone, kBanks };

// A dense tensor of bf16, f16 or i32, sizes and box innermost first. The address and the innermost
// rows must be multiples of 16 bytes, and no size beyond 2^31.
cudaError_t make_tensor_map(CUtensorMap& map, DType dtype, const void* data,
                            std::span<const std::int64_t> sizes, std::span<const std::uint32_t> box,
                            Swizzle swizzle);

}  // namespace pantograph::kernels
