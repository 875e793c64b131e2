#pragma once

#include <cstdint>

namespace pantograph::ops {

// x <- softmax(scale x); count at least 1, scale positive.
void softmax_row(float* x, std::int64_t count, float scale);

}  // namespace pantograph::ops
