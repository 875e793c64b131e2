#pragma once

namespace pantograph::bench {

// FLOP/s of cuBLASLt's bf16 product of two 8192 x 8192 matrices of random numbers on the current
// device, in a row for most of a second, within which a GPU reaches its power limit and clocks
// down.
struct MatrixRate {
  double burst = 0;      // of the first 20 after a few that warm up
  double sustained = 0;  // of the last 200
};
MatrixRate matrix_rate();

}  // namespace pantograph::bench
