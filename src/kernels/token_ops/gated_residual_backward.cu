// grad_y = grad * gate, and grad_gate = the sum of grad * y over rows: each thread walks down the
// rows of its block with its own columns, several rows in flight.
#include "kernels/token_ops/column_sums.h"
#include "kernels/token_ops/dispatch.cuh"
#include "kernels/token_ops/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 4;
constexpr int kRows = 2;  // in flight

template <typename T, int V>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    gated_residual_backward_kernel(const __grid_constant__ GatedResidualBackward problem,
                                   const __grid_constant__ PartialSums sums, float* partials) {
  const TokenShape& shape = problem.shape;
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * V;
  if (column >= shape.channels) return;
  const std::int64_t group = blockIdx.x / sums.slots;
  const std::int64_t slot = blockIdx.x % sums.slots;
  const std::int64_t first = group * sums.rows_per_group;

  Floats<V> sum{};
  for (std::int64_t base = slot; base < sums.rows_per_group; base += kRows * sums.slots) {
    Pack<T, V> grads[kRows];
    Pack<T, V> ys[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t row = base + i * sums.slots;
      if (row >= sums.rows_per_group) continue;
      grads[i] = load_once<V>(row_of<T>(shape, problem.grad, first + row) + column);
      ys[i] = load_once<V>(row_of<T>(shape, problem.y, first + row) + column);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t row = base + i * sums.slots;
      if (row >= sums.rows_per_group) continue;
      const Floats<V> grad = to_floats(grads[i]);
      const Floats<V> y = to_floats(ys[i]);
      const Floats<V> gate =
          to_floats(load<V>(entry_of<T>(shape, problem.gate, first + row) + column));
      Floats<V> grad_y;
#pragma unroll
      for (int e = 0; e < V; ++e) {
        sum.at[e] = fmaf(grad.at[e], y.at[e], sum.at[e]);
        grad_y.at[e] = grad.at[e] * gate.at[e];
      }
      store_once(static_cast<T*>(problem.grad_y) + (first + row) * shape.channels + column,
                 round_to<T>(grad_y));
    }
  }
  float* partial = partials + blockIdx.x * shape.channels + column;
#pragma unroll
  for (int e = 0; e < V; ++e) partial[e] = sum.at[e];
}

struct Plan {
  bool vectors;
  int threads;
  unsigned pieces;  // of a row, grid y
  PartialSums sums;
};

Plan plan(const GatedResidualBackward& problem, int multiprocessors) {
  const TokenShape& shape = problem.shape;
  Plan plan{};
  plan.vectors =
      fits_vectors(problem.dtype, shape.channels,
                   {problem.grad.strides.batch, problem.grad.strides.token, problem.y.strides.batch,
                    problem.y.strides.token, problem.gate.stride},
                   {problem.grad.data, problem.y.data, problem.gate.data, problem.grad_y});
  const int width = !plan.vectors ? 1 : problem.dtype == DType::kF32 ? 4 : 8;
  plan.threads = threads_for(ceil_divide(shape.channels, width), kThreads);
  plan.pieces = static_cast<unsigned>(ceil_divide(shape.channels, plan.threads * width));
  const std::int64_t resident =
      std::int64_t{multiprocessors} * kBlocksPerMultiprocessor * (kThreads / plan.threads);
  plan.sums = PartialSums::plan(shape, problem.gate.stride == 0, 1, resident / plan.pieces);
  return plan;
}

}  // namespace

std::int64_t workspace_bytes(const GatedResidualBackward& problem, int multiprocessors) {
  return problem.shape.channels == 0 ? 0 : plan(problem, multiprocessors).sums.bytes();
}

cudaError_t gated_residual_backward(const GatedResidualBackward& given, float* workspace,
                                    int multiprocessors, cudaStream_t stream) {
  GatedResidualBackward problem = given;
  problem.shape =
      join_samples(given.shape, {given.grad.strides, given.y.strides}, {given.gate.stride});
  if (problem.shape.channels == 0) return cudaSuccess;
  const Plan p = plan(problem, multiprocessors);
  if (p.sums.blocks() > 0x7fffffff || p.pieces > 65535) return cudaErrorInvalidValue;
  const cudaError_t status = with_element_type(problem.dtype, [&]<typename T>(T) {
    if (p.sums.blocks() == 0) return cudaSuccess;
    const dim3 grid(static_cast<unsigned>(p.sums.blocks()), p.pieces);
    if (p.vectors) {
      gated_residual_backward_kernel<T, kVectorWidth<T>>
          <<<grid, p.threads, 0, stream>>>(problem, p.sums, workspace);
    } else {
      gated_residual_backward_kernel<T, 1>
          <<<grid, p.threads, 0, stream>>>(problem, p.sums, workspace);
    }
    return cudaGetLastError();
  });
  if (status != cudaSuccess) return status;
  return column_sums(p.sums, workspace, problem.dtype, {problem.grad_gate, nullptr}, stream);
}

}  // namespace pantograph::kernels
