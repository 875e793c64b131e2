// Sums of many values over the lanes of a warp.
#pragma once

namespace pantograph::kernels {

// Those of the values that a lane ends up with.
struct SummedRange {
  int first, count;
};

// At each step a lane gives half of the sums it still has to its partner and takes the other half,
// so that all take about one shuffle each. Afterwards values[k] is the sum of what was values[first
// + k].
template <int kCount, int kMask = 16, int kValues>
__device__ void sum_scattered(float (&values)[kValues], int lane, SummedRange& range) {
  if constexpr (kMask > 0) {
    constexpr int kHalf = (kCount + 1) / 2;
    const bool upper = (lane & kMask) != 0;
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
      const float low = values[k], high = k + kHalf < kCount ? values[k + kHalf] : 0.0F;
      values[k] = (upper ? high : low) + __shfl_xor_sync(0xffffffffU, upper ? low : high, kMask);
    }
    range = upper ? SummedRange{range.first + kHalf, max(range.count - kHalf, 0)}
                  : SummedRange{range.first, min(range.count, kHalf)};
    sum_scattered<kHalf, kMask / 2>(values, lane, range);
  }
}

}  // namespace pantograph::kernels
