// Even blocks take the heads of q of one token, odd ones those of k.
#include "kernels/common/reduce.cuh"
#include "kernels/token_ops/head_layout.cuh"
#include "kernels/token_ops/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kMaxThreads = 256;
template <typename Layout>
inline constexpr int kHeadsAtOnce = Layout::kPacks == 1 ? 4 : 1;

template <typename T, typename Layout>
__global__ void __launch_bounds__(kMaxThreads, 3)
    qk_rmsnorm_rope_kernel(const __grid_constant__ QkRmsNormRope problem) {
  constexpr int V = Layout::V;
  constexpr int kPacks = Layout::kPacks;
  constexpr int kHeads = kHeadsAtOnce<Layout>;
  const QkRmsNormRope::Tensor& tensor = blockIdx.x % 2 == 0 ? problem.q : problem.k;
  const HeadStrides strides = tensor.strides;
  const auto heads = static_cast<int>(problem.heads);
  const auto head_dim = static_cast<int>(problem.head_dim);
  const float inverse_dim = 1.0F / static_cast<float>(head_dim);
  const std::int64_t rows = problem.batch * problem.tokens;

  Pack<T, V> weight[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int column = Layout::column(j);
    if (column < head_dim) weight[j] = load<V>(static_cast<const T*>(tensor.weight) + column);
  }

  for (std::int64_t row = blockIdx.x / 2; row < rows; row += gridDim.x / 2) {
    const std::int64_t sample = problem.batch == 1 ? 0 : row / problem.tokens;
    const std::int64_t token = row - sample * problem.tokens;
    const T* const x =
        static_cast<const T*>(tensor.x) + sample * strides.batch + token * strides.token;
    for (int base = 0; base < heads; base += Layout::groups() * kHeads) {
      const int first = base + Layout::group() * kHeads;
      Pack<T, V> packs[kHeads][kPacks];
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        const int head = first + h;
#pragma unroll
        for (int j = 0; j < kPacks; ++j) {
          const int column = Layout::column(j);
          packs[h][j] = {};
          if (head < heads && column < head_dim) {
            packs[h][j] = load_once<V>(x + head * strides.head + column);
          }
        }
      }
      Floats<V / 2> cos[kPacks];
      Floats<V / 2> sin[kPacks];
      if (problem.cos != nullptr) {
#pragma unroll
        for (int j = 0; j < kPacks; ++j) {
          const int column = Layout::column(j);
          if (column >= head_dim) continue;
          cos[j] = load_angles<V>(problem.cos, token, head_dim, column);
          sin[j] = load_angles<V>(problem.sin, token, head_dim, column);
        }
      }
      float rstd[kHeads];
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        float squares = 0;
#pragma unroll
        for (int j = 0; j < kPacks; ++j) {
          const Floats<V> values = to_floats(packs[h][j]);
#pragma unroll
          for (int e = 0; e < V; ++e) squares = fmaf(values.at[e], values.at[e], squares);
        }
        squares = sum_over_lanes<Layout::kLanes>(squares);
        rstd[h] = rsqrtf(squares * inverse_dim + static_cast<float>(problem.eps));
      }
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        const int head = first + h;
        if (head >= heads) continue;
        const std::int64_t index = row * heads + head;
        if (tensor.rstd != nullptr && threadIdx.x % Layout::kLanes == 0) {
          static_cast<float*>(tensor.rstd)[index] = rstd[h];
        }
        T* target = static_cast<T*>(tensor.out) + index * head_dim;
#pragma unroll
        for (int j = 0; j < kPacks; ++j) {
          const int column = Layout::column(j);
          if (column >= head_dim) continue;
          forget_floats(packs[h][j]);
          Floats<V> n = to_floats(packs[h][j]);
#pragma unroll
          for (int e = 0; e < V; ++e) n.at[e] *= rstd[h];
          Pack<T, V> out = multiply(round_to<T>(n), weight[j]);
          if (problem.cos != nullptr) {
            n = to_floats(out);
            Floats<V> turned;
#pragma unroll
            for (int e = 0; e < V; e += 2) {
              const float c = cos[j].at[e / 2];
              const float s = sin[j].at[e / 2];
              turned.at[e] = n.at[e] * c - n.at[e + 1] * s;
              turned.at[e + 1] = n.at[e + 1] * c + n.at[e] * s;
            }
            out = round_to<T>(turned);
          }
          store_once(target + column, out);
        }
      }
    }
  }
}

bool vectors(const QkRmsNormRope& problem) {
  const auto fits = [&](const QkRmsNormRope::Tensor& tensor) {
    return fits_vectors(problem.dtype, problem.head_dim,
                        {tensor.strides.batch, tensor.strides.token, tensor.strides.head},
                        {tensor.x, tensor.weight, tensor.out, problem.cos, problem.sin});
  };
  return fits(problem.q) && fits(problem.k);
}

}  // namespace

cudaError_t qk_rmsnorm_rope(const QkRmsNormRope& problem, cudaStream_t stream) {
  const std::int64_t rows = problem.batch * problem.tokens;
  if (rows == 0 || problem.heads == 0 || problem.head_dim == 0) return cudaSuccess;
  const unsigned grid = 2 * grid_for(std::min<std::int64_t>(rows, 1 << 30));
  return with_head_layout(
      problem.dtype, problem.head_dim, vectors(problem), [&]<typename T, typename Layout>() {
        const int threads =
            threads_for_heads<Layout>(problem.heads, kHeadsAtOnce<Layout>, kMaxThreads);
        qk_rmsnorm_rope_kernel<T, Layout><<<grid, threads, 0, stream>>>(problem);
        return cudaGetLastError();
      });
}

}  // namespace pantograph::kernels
