#pragma once

namespace pantograph::bench {

// FLOP/s, sustained for a second, of cuBLASLt's bf16 product of two 8192 x 8192 matrices of random
// numbers on the current device.
double matrix_rate();

}  // namespace pantograph::bench
