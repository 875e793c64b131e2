// A product of [positions, taps x in] with [taps x in, out], tiled 128 x 128 x 16 through shared
// memory, 8 x 8 results a thread. The rows of the left matrix are never made: a tap reads the
// position it shifts to.
#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/conv3d_direct.h"
#include "kernels/wan_vae/dispatch.cuh"

namespace pantograph::kernels {
namespace {

constexpr int kTile = 128, kDepth = 16, kThreads = 256;
constexpr int kEach = kDepth / 2;  // two threads load a row of a tile
constexpr int kPitch = kTile + 4;  // of shared memory: keeps float4 aligned, spreads the banks

// kEach elements from `source`, zero beyond `count` of them or where there is no source.
template <typename T, bool kVector>
__device__ void load_part(const T* source, std::int64_t count, float (&values)[kEach]) {
  if (kVector && source != nullptr && count >= kEach) {
    constexpr int V = kVectorWidth<T>;
#pragma unroll
    for (int i = 0; i < kEach; i += V) {
      const Floats<V> part = to_floats(load<V>(source + i));
#pragma unroll
      for (int j = 0; j < V; ++j) values[i + j] = part.at[j];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    values[i] = source != nullptr && i < count ? to_float(source[i]) : 0.0F;
  }
}

template <typename T, bool kVector>
__global__ void __launch_bounds__(kThreads, 2) direct_kernel(Conv3dDirect p) {
  __shared__ float a_tile[kDepth][kPitch], b_tile[kDepth][kPitch];
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t first_row = std::int64_t{blockIdx.x} * kTile;
  const std::int64_t first_out = std::int64_t{blockIdx.y} * kTile;
  const std::int64_t taps = p.kernel_time * p.kernel_height * p.kernel_width;

  // What this thread loads: half of one row of each tile.
  const int load_row = tid / 2, load_at = tid % 2 * kEach;
  const std::int64_t position = p.first_position + first_row + load_row;
  const bool has_position = first_row + load_row < p.positions;
  const std::int64_t frame = position / (p.height * p.width);
  const std::int64_t row = position / p.width % p.height, column = position % p.width;
  const std::int64_t out = first_out + load_row;
  const T* weights = out < p.out_channels
                         ? static_cast<const T*>(p.weights) + out * taps * p.in_channels
                         : nullptr;
  const auto source = [&](std::int64_t tap) -> const T* {
    const std::int64_t dx = tap % p.kernel_width, dy = tap / p.kernel_width % p.kernel_height;
    const std::int64_t dt = tap / p.kernel_width / p.kernel_height;
    const std::int64_t r = row + dy - p.rows_above, c = column + dx - p.columns_left;
    if (!has_position || r < 0 || r >= p.height || c < 0 || c >= p.width) return nullptr;
    return static_cast<const T*>(p.x) +
           (((frame + dt) * p.height + r) * p.width + c) * p.in_channels;
  };

  const int tx = tid % 16, ty = tid / 16;
  float sums[8][8] = {};
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const T* x = source(tap);
    const T* w = weights == nullptr ? nullptr : weights + tap * p.in_channels;
    for (std::int64_t c = 0; c < p.in_channels; c += kDepth) {
      const std::int64_t at = c + load_at, left = p.in_channels - at;
      float a_part[kEach], b_part[kEach];
      load_part<T, kVector>(x == nullptr ? nullptr : x + at, left, a_part);
      load_part<T, kVector>(w == nullptr ? nullptr : w + at, left, b_part);
      __syncthreads();  // the last round's readers are done
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        a_tile[load_at + i][load_row] = a_part[i];
        b_tile[load_at + i][load_row] = b_part[i];
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        float a[8], b[8];
        *reinterpret_cast<float4*>(a) = *reinterpret_cast<const float4*>(&a_tile[k][ty * 4]);
        *reinterpret_cast<float4*>(a + 4) =
            *reinterpret_cast<const float4*>(&a_tile[k][kTile / 2 + ty * 4]);
        *reinterpret_cast<float4*>(b) = *reinterpret_cast<const float4*>(&b_tile[k][tx * 4]);
        *reinterpret_cast<float4*>(b + 4) =
            *reinterpret_cast<const float4*>(&b_tile[k][kTile / 2 + tx * 4]);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
#pragma unroll
          for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
      }
    }
  }

  const auto offset = [](int thread, int i) { return i / 4 * (kTile / 2) + thread * 4 + i % 4; };
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::int64_t r = first_row + offset(ty, i);
    if (r >= p.positions) continue;
    T* y = static_cast<T*>(p.y) + (p.first_position + r) * p.out_channels;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::int64_t o = first_out + offset(tx, j);
      if (o >= p.out_channels) continue;
      const float sum = sums[i][j] + p.bias[o];
      round_to(p.accumulate ? sum + to_float(y[o]) : sum, y[o]);
    }
  }
}

}  // namespace

cudaError_t conv3d_direct(const Conv3dDirect& p, cudaStream_t stream) {
  if (p.positions == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>((p.positions + kTile - 1) / kTile),
                  static_cast<unsigned>((p.out_channels + kTile - 1) / kTile));
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    p.in_channels % kVectorWidth<T> == 0
        ? direct_kernel<T, true><<<grid, kThreads, 0, stream>>>(p)
        : direct_kernel<T, false><<<grid, kThreads, 0, stream>>>(p);
  });
}

}  // namespace pantograph::kernels
