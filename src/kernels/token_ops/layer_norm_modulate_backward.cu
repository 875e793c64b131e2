// grad_x = rstd (g - mean(g) - n mean(g n)) with g = grad * scale and n = (x - mean) rstd; a block
// walks over rows and keeps, in registers, its columns' sums of grad * n and of grad.
#include "kernels/common/reduce.cuh"
#include "kernels/token_ops/column_sums.h"
#include "kernels/token_ops/dispatch.cuh"
#include "kernels/token_ops/launch.h"

namespace pantograph::kernels {
namespace {

// Two shapes of block: up to 256 threads of 16 elements, three at a time on a multiprocessor, for
// rows of up to 4096; beyond, up to 512 threads of 32, one at a time.
template <int kElements>
inline constexpr int kMaxThreads = kElements == 16 ? 256 : 512;
template <int kElements>
inline constexpr int kBlocksPerMultiprocessor = kElements == 16 ? 3 : 1;

template <typename T, int V, int kElements>
__global__ void __launch_bounds__(kMaxThreads<kElements>, kBlocksPerMultiprocessor<kElements>)
    layer_norm_modulate_backward_kernel(const __grid_constant__ LayerNormModulateBackward problem,
                                        const __grid_constant__ PartialSums sums, float* partials) {
  constexpr int kPacks = kElements / V;
  __shared__ float sum_partials[2][2][32];
  const TokenShape& shape = problem.shape;
  const auto channels = static_cast<int>(shape.channels);
  const float inverse_channels = 1.0F / static_cast<float>(channels);
  const int stride = static_cast<int>(blockDim.x) * V;
  const int first = static_cast<int>(threadIdx.x) * V;
  const std::int64_t group = blockIdx.x / sums.slots;
  const std::int64_t slot = blockIdx.x % sums.slots;

  // The rows of a group have one scale.
  const T* scales = entry_of<T>(shape, problem.scale, group * sums.rows_per_group);
  Pack<T, V> scale_packs[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int column = first + j * stride;
    if (column < channels) scale_packs[j] = load<V>(scales + column);
  }

  Floats<V> grad_scale[kPacks]{};
  Floats<V> grad_shift[kPacks]{};
  int buffer = 0;
  for (std::int64_t i = slot; i < sums.rows_per_group; i += sums.slots, buffer ^= 1) {
    const std::int64_t row = group * sums.rows_per_group + i;
    const T* grads = row_of<T>(shape, problem.grad, row);
    const T* xs = row_of<T>(shape, problem.x, row);
    Pack<T, V> grad[kPacks];
    Pack<T, V> x[kPacks];
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int column = first + j * stride;
      if (column >= channels) continue;
      grad[j] = load_once<V>(grads + column);
      x[j] = load_once<V>(xs + column);
    }
    const float mean = static_cast<const float*>(problem.mean)[row];
    const float rstd = static_cast<const float*>(problem.rstd)[row];

    float means[2] = {0, 0};  // of g and of g (x - mean), which is g n / rstd
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int column = first + j * stride;
      if (column >= channels) continue;
      forget_floats(scale_packs[j]);
      const Floats<V> scale = to_floats(scale_packs[j]);
#pragma unroll
      for (int e = 0; e < V; ++e) {
        const float raw = to_float(grad[j].at[e]);
        const float product = raw * (to_float(x[j].at[e]) - mean);
        grad_scale[j].at[e] = fmaf(product, rstd, grad_scale[j].at[e]);
        grad_shift[j].at[e] += raw;
        means[0] = fmaf(raw, scale.at[e], means[0]);
        means[1] = fmaf(product, scale.at[e], means[1]);
      }
    }
    sum_over_block(means, sum_partials[buffer]);
    // grad_x = raw scale rstd - (x - mean) slope - offset.
    const float offset = means[0] * inverse_channels * rstd;
    const float slope = means[1] * inverse_channels * rstd * rstd * rstd;

    T* target = static_cast<T*>(problem.grad_x) + row * shape.channels;
    const T* others =
        problem.grad_sum.data == nullptr ? nullptr : row_of<T>(shape, problem.grad_sum, row);
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int column = first + j * stride;
      if (column >= channels) continue;
      forget_floats(grad[j]);
      forget_floats(x[j]);
      forget_floats(scale_packs[j]);
      const Floats<V> scale = to_floats(scale_packs[j]);
      Floats<V> grad_x;
#pragma unroll
      for (int e = 0; e < V; ++e) {
        const float centred = to_float(x[j].at[e]) - mean;
        grad_x.at[e] =
            fmaf(to_float(grad[j].at[e]), scale.at[e] * rstd, fmaf(-centred, slope, -offset));
      }
      if (others != nullptr) {
        const Floats<V> other = to_floats(load_once<V>(others + column));
#pragma unroll
        for (int e = 0; e < V; ++e) grad_x.at[e] += other.at[e];
      }
      store_once(target + column, round_to<T>(grad_x));
    }
  }

  float* partial = partials + std::int64_t{blockIdx.x} * 2 * channels;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int column = first + j * stride;
    if (column >= channels) continue;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      partial[column + e] = grad_scale[j].at[e];
      partial[channels + column + e] = grad_shift[j].at[e];
    }
  }
}

struct Plan {
  bool vectors;
  int elements;  // of a thread
  int threads;
  PartialSums sums;
};

Plan plan(const LayerNormModulateBackward& problem, int multiprocessors) {
  const TokenShape& shape = problem.shape;
  Plan plan{};
  plan.vectors =
      fits_vectors(problem.dtype, shape.channels,
                   {problem.grad.strides.batch, problem.grad.strides.token,
                    problem.grad_sum.strides.batch, problem.grad_sum.strides.token,
                    problem.x.strides.batch, problem.x.strides.token, problem.scale.stride},
                   {problem.grad.data, problem.grad_sum.data, problem.x.data, problem.scale.data,
                    problem.grad_x});
  const bool narrow = plan.vectors && shape.channels <= kMaxThreads<16> * 16;
  const int limit = narrow ? kMaxThreads<16> : kMaxThreads<32>;
  plan.elements = narrow ? 16 : 32;
  plan.threads = threads_for(ceil_divide(shape.channels, plan.elements), limit);
  const int blocks = narrow ? kBlocksPerMultiprocessor<16> : kBlocksPerMultiprocessor<32>;
  plan.sums = PartialSums::plan(shape, problem.scale.stride == 0, 2,
                                std::int64_t{multiprocessors} * blocks * (limit / plan.threads));
  return plan;
}

}  // namespace

std::int64_t workspace_bytes(const LayerNormModulateBackward& problem, int multiprocessors) {
  return problem.shape.channels == 0 ? 0 : plan(problem, multiprocessors).sums.bytes();
}

cudaError_t layer_norm_modulate_backward(const LayerNormModulateBackward& given, float* workspace,
                                         int multiprocessors, cudaStream_t stream) {
  LayerNormModulateBackward problem = given;
  problem.shape = join_samples(given.shape,
                               {given.grad.strides, given.x.strides,
                                given.grad_sum.data ? given.grad_sum.strides : given.x.strides},
                               {given.scale.stride});
  if (problem.shape.channels == 0) return cudaSuccess;
  const Plan p = plan(problem, multiprocessors);
  if (p.sums.blocks() > 0x7fffffff) return cudaErrorInvalidValue;
  const cudaError_t status = with_element_type(problem.dtype, [&]<typename T>(T) {
    if (p.sums.blocks() == 0) return cudaSuccess;
    constexpr int kWidth = kVectorWidth<T>;
    const auto kernel = !p.vectors         ? &layer_norm_modulate_backward_kernel<T, 1, 32>
                        : p.elements == 16 ? &layer_norm_modulate_backward_kernel<T, kWidth, 16>
                                           : &layer_norm_modulate_backward_kernel<T, kWidth, 32>;
    kernel<<<static_cast<unsigned>(p.sums.blocks()), p.threads, 0, stream>>>(problem, p.sums,
                                                                             workspace);
    return cudaGetLastError();
  });
  if (status != cudaSuccess) return status;
  return column_sums(p.sums, workspace, problem.dtype, {problem.grad_scale, problem.grad_shift},
                     stream);
}

}  // namespace pantograph::kernels
