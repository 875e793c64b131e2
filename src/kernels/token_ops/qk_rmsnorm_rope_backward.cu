// With g the gradient turned back and n = x rstd: grad_x = rstd (g w - n mean(g w n)), and
// grad_weight = the sum of g * round(n) over all heads. Even blocks walk over the tokens of q, odd
// ones over those of k, each thread keeping the sums of its own columns in registers.
#include "kernels/common/reduce.cuh"
#include "kernels/token_ops/column_sums.h"
#include "kernels/token_ops/head_layout.cuh"
#include "kernels/token_ops/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kBlocksPerMultiprocessor = 4;

// Adds up the groups' column sums over the block and writes them to `partial` [head_dim].
template <typename Layout>
__device__ void write_partial(const Floats<Layout::V> (&sums)[Layout::kPacks], int head_dim,
                              float* partial) {
  __shared__ float columns[kMaxThreads / Layout::kLanes]
                          [Layout::kLanes * Layout::kPacks * Layout::V];
#pragma unroll
  for (int j = 0; j < Layout::kPacks; ++j) {
#pragma unroll
    for (int e = 0; e < Layout::V; ++e) {
      columns[Layout::group()][Layout::column(j) + e] = sums[j].at[e];
    }
  }
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < head_dim;
       column += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int group = 0; group < Layout::groups(); ++group) sum += columns[group][column];
    partial[column] = sum;
  }
}

template <typename T, typename Layout>
__global__ void __launch_bounds__(kMaxThreads, kBlocksPerMultiprocessor)
    qk_rmsnorm_rope_backward_kernel(const __grid_constant__ QkRmsNormRopeBackward problem,
                                    float* partials) {
  constexpr int V = Layout::V;
  constexpr int kPacks = Layout::kPacks;
  const QkRmsNormRopeBackward::Tensor& tensor = blockIdx.x % 2 == 0 ? problem.q : problem.k;
  const HeadStrides grad_strides = tensor.grad_strides;
  const HeadStrides strides = tensor.strides;
  const auto heads = static_cast<int>(problem.heads);
  const auto head_dim = static_cast<int>(problem.head_dim);
  const float inverse_dim = 1.0F / static_cast<float>(head_dim);
  const std::int64_t rows = problem.batch * problem.tokens;

  Pack<T, V> weight[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int column = Layout::column(j);
    weight[j] =
        column < head_dim ? load<V>(static_cast<const T*>(tensor.weight) + column) : Pack<T, V>{};
  }

  Floats<V> grad_weight[kPacks]{};
  for (std::int64_t row = blockIdx.x / 2; row < rows; row += gridDim.x / 2) {
    const std::int64_t sample = problem.batch == 1 ? 0 : row / problem.tokens;
    const std::int64_t token = row - sample * problem.tokens;
    const T* const grad = static_cast<const T*>(tensor.grad) + sample * grad_strides.batch +
                          token * grad_strides.token;
    const T* const x =
        static_cast<const T*>(tensor.x) + sample * strides.batch + token * strides.token;
    for (int base = 0; base < heads; base += Layout::groups()) {
      const int head = base + Layout::group();
      Pack<T, V> grads[kPacks]{};
      Pack<T, V> xs[kPacks]{};
      Floats<V / 2> cos[kPacks]{};
      Floats<V / 2> sin[kPacks]{};
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
        const int column = Layout::column(j);
        if (head >= heads || column >= head_dim) continue;
        grads[j] = load_once<V>(grad + head * grad_strides.head + column);
        xs[j] = load_once<V>(x + head * strides.head + column);
        if (problem.cos == nullptr) continue;
        cos[j] = load_angles<V>(problem.cos, token, head_dim, column);
        sin[j] = load_angles<V>(problem.sin, token, head_dim, column);
      }
      float rstd = 0;
      if (head < heads) rstd = static_cast<const float*>(tensor.rstd)[row * heads + head];

      Floats<V> gw[kPacks];
      Floats<V> n[kPacks];
      float dot = 0;
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
        Floats<V> g = to_floats(grads[j]);
        if (problem.cos != nullptr) {
#pragma unroll
          for (int e = 0; e < V; e += 2) {
            const float c = cos[j].at[e / 2];
            const float s = sin[j].at[e / 2];
            const float even = g.at[e];
            const float odd = g.at[e + 1];
            g.at[e] = even * c + odd * s;
            g.at[e + 1] = odd * c - even * s;
          }
        }
        forget_floats(weight[j]);
        const Floats<V> w = to_floats(weight[j]);
        n[j] = to_floats(xs[j]);
#pragma unroll
        for (int e = 0; e < V; ++e) {
          n[j].at[e] *= rstd;
          gw[j].at[e] = g.at[e] * w.at[e];
          dot = fmaf(gw[j].at[e], n[j].at[e], dot);
        }
        const Floats<V> rounded_n = rounded<T>(n[j]);
#pragma unroll
        for (int e = 0; e < V; ++e) {
          grad_weight[j].at[e] = fmaf(g.at[e], rounded_n.at[e], grad_weight[j].at[e]);
        }
      }
      const float mean = sum_over_lanes<Layout::kLanes>(dot) * inverse_dim;
      T* target = static_cast<T*>(tensor.grad_x) + (row * heads + head) * head_dim;
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
        const int column = Layout::column(j);
        Floats<V> grad_x;
#pragma unroll
        for (int e = 0; e < V; ++e) {
          grad_x.at[e] = rstd * (gw[j].at[e] - n[j].at[e] * mean);
        }
        if (head < heads && column < head_dim) {
          store_once(target + column, round_to<T>(grad_x));
        }
      }
    }
  }
  write_partial<Layout>(grad_weight, head_dim, partials + std::int64_t{blockIdx.x} * head_dim);
}

bool vectors(const QkRmsNormRopeBackward& problem) {
  const auto fits = [&](const QkRmsNormRopeBackward::Tensor& tensor) {
    return fits_vectors(
        problem.dtype, problem.head_dim,
        {tensor.grad_strides.batch, tensor.grad_strides.token, tensor.grad_strides.head,
         tensor.strides.batch, tensor.strides.token, tensor.strides.head},
        {tensor.grad, tensor.x, tensor.weight, tensor.grad_x, problem.cos, problem.sin});
  };
  return fits(problem.q) && fits(problem.k);
}

// The pairs of blocks are the slots, q and k the parts.
PartialSums plan(const QkRmsNormRopeBackward& problem, int multiprocessors) {
  const TokenShape shape{problem.batch, problem.tokens, problem.head_dim};
  return PartialSums::plan(shape, true, 2,
                           std::int64_t{multiprocessors} * kBlocksPerMultiprocessor / 2);
}

}  // namespace

std::int64_t workspace_bytes(const QkRmsNormRopeBackward& problem, int multiprocessors) {
  return plan(problem, multiprocessors).bytes();
}

cudaError_t qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem, float* workspace,
                                     int multiprocessors, cudaStream_t stream) {
  const PartialSums sums = plan(problem, multiprocessors);
  if (problem.head_dim == 0) return cudaSuccess;
  cudaError_t status = cudaSuccess;
  if (sums.slots > 0) {
    status = with_head_layout(
        problem.dtype, problem.head_dim, vectors(problem), [&]<typename T, typename Layout>() {
          const int threads = threads_for_heads<Layout>(problem.heads, 1, kMaxThreads);
          qk_rmsnorm_rope_backward_kernel<T, Layout>
              <<<static_cast<unsigned>(2 * sums.slots), threads, 0, stream>>>(problem, workspace);
          return cudaGetLastError();
        });
  }
  if (status != cudaSuccess) return status;
  return column_sums(sums, workspace, problem.dtype, {problem.q.grad_weight, problem.k.grad_weight},
                     stream);
}

}  // namespace pantograph::kernels
