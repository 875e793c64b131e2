// A warp for each position: its channels stay in registers between the sum and the scaling.
#include "kernels/common/reduce.cuh"
#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/dispatch.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kWarps = 8;

// bf16 is rounded to 8 bits afterwards, which the fast exponential's error does not reach.
template <typename T>
__device__ float silu(float v) {
  if constexpr (sizeof(T) == 2) return __fdividef(v, 1.0F + __expf(-v));
  return v / (1.0F + expf(-v));
}

template <typename T, bool kSilu>
__device__ float scaled(float v, float factor, float gamma) {
  const float y = v * factor * gamma;
  return kSilu ? silu<T>(y) : y;
}

__device__ float norm_factor(float sum, std::int64_t channels) {
  return sqrtf(static_cast<float>(channels)) / fmaxf(sqrtf(sum), 1e-12F);
}

// For the warp of one row: moves the history of the row's place in its frame. Returns where the row
// itself is to be kept too, or nullptr. All of it is done by this warp, in order, and lane by lane
// on the same channels, so that nothing is overwritten before it is read.
template <typename T, int V>
__device__ T* move_history(const RmsNorm& p, std::int64_t row) {
  const std::int64_t last = row + p.history_rows - p.rows;
  if (p.history == nullptr || last < 0) return nullptr;
  T* history = static_cast<T*>(p.history);
  T* front = static_cast<T*>(p.y) - p.history_rows * p.channels;
  for (std::int64_t slot = last % p.rows; slot <= last; slot += p.rows) {
    T* from = history + slot * p.channels;
    for (std::int64_t c = threadIdx.x % 32 * V; c < p.channels; c += 32 * V) {
      store(front + slot * p.channels + c, load_once<V>(static_cast<const T*>(from) + c));
      if (slot < last)
        store(from + c, load_once<V>(static_cast<const T*>(from) + p.rows * p.channels + c));
    }
  }
  return history + last * p.channels;
}

// channels == 32 * kVectorWidth * kPacks
template <typename T, bool kSilu, int kPacks>
__global__ void __launch_bounds__(32 * kWarps) rms_norm_packs(RmsNorm p) {
  constexpr int V = kVectorWidth<T>;
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (row >= p.rows) return;
  const int lane = threadIdx.x % 32;
  const T* x = static_cast<const T*>(p.x) + row * p.channels;
  T* y = static_cast<T*>(p.y) + row * p.channels;
  Pack<T, V> packs[kPacks];
#pragma unroll
  for (int i = 0; i < kPacks; ++i) packs[i] = load_once<V>(x + (i * 32 + lane) * V);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const Floats<V> values = to_floats(packs[i]);
#pragma unroll
    for (int j = 0; j < V; ++j) sum += values.at[j] * values.at[j];
  }
  const float factor = norm_factor(sum_over_lanes<32>(sum), p.channels);
  T* kept = move_history<T, V>(p, row);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    Floats<V> values = to_floats(packs[i]);
    const float* gamma = p.gamma + (i * 32 + lane) * V;
#pragma unroll
    for (int j = 0; j < V; j += 4) {
      const float4 g = __ldg(reinterpret_cast<const float4*>(gamma + j));
      values.at[j] = scaled<T, kSilu>(values.at[j], factor, g.x);
      values.at[j + 1] = scaled<T, kSilu>(values.at[j + 1], factor, g.y);
      values.at[j + 2] = scaled<T, kSilu>(values.at[j + 2], factor, g.z);
      values.at[j + 3] = scaled<T, kSilu>(values.at[j + 3], factor, g.w);
    }
    // Kept in the caches: the convolution reads it next.
    const Pack<T, V> rounded = round_to<T>(values);
    store(y + (i * 32 + lane) * V, rounded);
    if (kept != nullptr) store(kept + (i * 32 + lane) * V, rounded);
  }
}

template <typename T, bool kSilu>
__global__ void __launch_bounds__(32 * kWarps) rms_norm_any(RmsNorm p) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (row >= p.rows) return;
  const T* x = static_cast<const T*>(p.x) + row * p.channels;
  T* y = static_cast<T*>(p.y) + row * p.channels;
  float sum = 0;
  for (std::int64_t c = threadIdx.x % 32; c < p.channels; c += 32) {
    const float v = to_float(x[c]);
    sum += v * v;
  }
  const float factor = norm_factor(sum_over_lanes<32>(sum), p.channels);
  T* kept = move_history<T, 1>(p, row);
  for (std::int64_t c = threadIdx.x % 32; c < p.channels; c += 32) {
    round_to(scaled<T, kSilu>(to_float(x[c]), factor, p.gamma[c]), y[c]);
    if (kept != nullptr) kept[c] = y[c];
  }
}

template <typename T, bool kSilu>
void launch(const RmsNorm& p, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((p.rows + kWarps - 1) / kWarps);
  constexpr int kThreads = 32 * kWarps;
  switch (p.channels % (32 * kVectorWidth<T>) == 0 ? p.channels / (32 * kVectorWidth<T>) : 0) {
    case 1:
      return rms_norm_packs<T, kSilu, 1><<<blocks, kThreads, 0, stream>>>(p);
    case 2:
      return rms_norm_packs<T, kSilu, 2><<<blocks, kThreads, 0, stream>>>(p);
    case 4:
      return rms_norm_packs<T, kSilu, 4><<<blocks, kThreads, 0, stream>>>(p);
    case 8:
      return rms_norm_packs<T, kSilu, 8><<<blocks, kThreads, 0, stream>>>(p);
    default:
      return rms_norm_any<T, kSilu><<<blocks, kThreads, 0, stream>>>(p);
  }
}

}  // namespace

cudaError_t rms_norm(const RmsNorm& p, cudaStream_t stream) {
  if (p.rows == 0) return cudaSuccess;
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    p.silu ? launch<T, true>(p, stream) : launch<T, false>(p, stream);
  });
}

}  // namespace pantograph::kernels
