// Sums over threads in a fixed order: every thread gets the same bits, run after run.
#pragma once

namespace pantograph::kernels {

// Over each run of kLanes neighbouring lanes of a warp, all of whose lanes must call.
template <int kLanes>
__device__ float sum_over_lanes(float value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  }
  return value;
}

// Over a block of whole warps, for kValues sums at once. Two calls with no __syncthreads between
// them must be given different `partials`.
template <int kValues>
__device__ void sum_over_block(float (&values)[kValues], float (&partials)[kValues][32]) {
#pragma unroll
  for (float& value : values) value = sum_over_lanes<32>(value);
  const unsigned warps = blockDim.x / 32;
  if (warps == 1) return;
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    if (lane == 0) partials[i][threadIdx.x / 32] = values[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    values[i] = sum_over_lanes<32>(lane < warps ? partials[i][lane] : 0.0F);
  }
}

}  // namespace pantograph::kernels
