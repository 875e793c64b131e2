// One block a row, which stays in registers between the two passes of its statistics.
#include "kernels/common/reduce.cuh"
#include "kernels/token_ops/dispatch.cuh"
#include "kernels/token_ops/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kMaxThreads = 512;
constexpr int kElements = 32;  // of a thread: 512 threads cover 16384 channels

template <typename T, int V, bool kResidual>
__global__ void __launch_bounds__(kMaxThreads, V == 8 && !kResidual ? 3 : 1)
    layer_norm_modulate_kernel(const __grid_constant__ LayerNormModulate problem) {
  constexpr int kPacks = kElements / V;
  __shared__ float mean_partials[1][32];
  __shared__ float variance_partials[1][32];
  const TokenShape& shape = problem.shape;
  const auto channels = static_cast<int>(shape.channels);
  const float inverse_channels = 1.0F / static_cast<float>(channels);
  const int stride = static_cast<int>(blockDim.x) * V;
  const int first = static_cast<int>(threadIdx.x) * V;

  for (std::int64_t row = blockIdx.x; row < shape.rows(); row += gridDim.x) {
    Pack<T, V> x[kPacks];
    const T* source = row_of<T>(shape, problem.x, row);
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int column = first + j * stride;
      if (column < channels) x[j] = load_once<V>(source + column);
    }
    if constexpr (kResidual) {
      Pack<T, V> y[kPacks];
      const T* update = row_of<T>(shape, problem.y, row);
      const T* gates = entry_of<T>(shape, problem.gate, row);
      T* target = static_cast<T*>(problem.sum) + row * shape.channels;
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
        const int column = first + j * stride;
        if (column < channels) y[j] = load_once<V>(update + column);
      }
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
        const int column = first + j * stride;
        if (column >= channels) continue;
        Floats<V> values = to_floats(x[j]);
        const Floats<V> updates = to_floats(y[j]);
        const Floats<V> gate = to_floats(load<V>(gates + column));
#pragma unroll
        for (int e = 0; e < V; ++e) {
          values.at[e] = fmaf(updates.at[e], gate.at[e], values.at[e]);
        }
        x[j] = round_to<T>(values);
        store_once(target + column, x[j]);
      }
    }

    float total[1] = {0};
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      if (first + j * stride >= channels) continue;
      const Floats<V> values = to_floats(x[j]);
#pragma unroll
      for (int e = 0; e < V; ++e) total[0] += values.at[e];
    }
    sum_over_block(total, mean_partials);
    const float mean = total[0] * inverse_channels;

    float squares[1] = {0};
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      if (first + j * stride >= channels) continue;
      forget_floats(x[j]);
      const Floats<V> values = to_floats(x[j]);
#pragma unroll
      for (int e = 0; e < V; ++e) {
        const float centred = values.at[e] - mean;
        squares[0] = fmaf(centred, centred, squares[0]);
      }
    }
    sum_over_block(squares, variance_partials);
    const float rstd = rsqrtf(squares[0] * inverse_channels + static_cast<float>(problem.eps));
    if (problem.mean != nullptr && threadIdx.x == 0) {
      static_cast<float*>(problem.mean)[row] = mean;
      static_cast<float*>(problem.rstd)[row] = rstd;
    }

    const T* scales = entry_of<T>(shape, problem.scale, row);
    const T* shifts = entry_of<T>(shape, problem.shift, row);
    T* target = static_cast<T*>(problem.out) + row * shape.channels;
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int column = first + j * stride;
      if (column >= channels) continue;
      forget_floats(x[j]);
      Floats<V> values = to_floats(x[j]);
      const Floats<V> scale = to_floats(load<V>(scales + column));
      const Floats<V> shift = to_floats(load<V>(shifts + column));
#pragma unroll
      for (int e = 0; e < V; ++e) {
        values.at[e] = (values.at[e] - mean) * rstd * scale.at[e] + shift.at[e];
      }
      store_once(target + column, round_to<T>(values));
    }
  }
}

}  // namespace

cudaError_t layer_norm_modulate(const LayerNormModulate& given, cudaStream_t stream) {
  LayerNormModulate problem = given;
  problem.shape =
      join_samples(given.shape, {given.x.strides, given.y.data ? given.y.strides : given.x.strides},
                   {given.gate.stride, given.scale.stride, given.shift.stride});
  const TokenShape& shape = problem.shape;
  if (shape.rows() == 0 || shape.channels == 0) return cudaSuccess;
  const bool vectors = fits_vectors(
      problem.dtype, shape.channels,
      {problem.x.strides.batch, problem.x.strides.token, problem.y.strides.batch,
       problem.y.strides.token, problem.gate.stride, problem.scale.stride, problem.shift.stride},
      {problem.x.data, problem.y.data, problem.gate.data, problem.sum, problem.scale.data,
       problem.shift.data, problem.out});
  return with_element_type(problem.dtype, [&]<typename T>(T) {
    const int threads = threads_for(ceil_divide(shape.channels, kElements), kMaxThreads);
    const auto start = [&]<int V>() {
      const auto kernel = problem.y.data == nullptr ? &layer_norm_modulate_kernel<T, V, false>
                                                    : &layer_norm_modulate_kernel<T, V, true>;
      kernel<<<grid_for(shape.rows()), threads, 0, stream>>>(problem);
      return cudaGetLastError();
    };
    return vectors ? start.template operator()<kVectorWidth<T>>() : start.template operator()<1>();
  });
}

}  // namespace pantograph::kernels
