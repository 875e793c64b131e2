// Elements of any floating type as f32.
#pragma once

#include <cstdint>

#include "pantograph/tensor_view.h"

namespace pantograph {

// `count` consecutive elements of type `from` (f32, bf16, f16) at `source` into `target`; throws
// Error(kInvalidArgument) for another type. `source` needs no alignment.
void convert_to_f32(DType from, const void* source, float* target, std::int64_t count);
// The same backwards, rounding to nearest even; `target` needs no alignment.
void convert_from_f32(const float* source, DType to, void* target, std::int64_t count);

}  // namespace pantograph
