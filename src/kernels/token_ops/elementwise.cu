// Ops without sums: every element of the outputs from the same element of the inputs.
#include "kernels/token_ops/dispatch.cuh"
#include "kernels/token_ops/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 2;          // of a block, in flight together
constexpr int kMaxBlocks = 8192;  // several waves on any GPU, each block long enough to pay

template <typename Op>
struct Arguments {
  TokenShape shape;
  Rows inputs[Op::kInputs];  // one whose token stride is 0 is a table
  void* outputs[Op::kOutputs];
};

// Grid y cuts the rows into pieces; grid x strides over pairs of rows.
template <typename Op, typename T, int V>
__global__ void __launch_bounds__(kThreads, 4)
    elementwise_kernel(const __grid_constant__ Arguments<Op> arguments) {
  const TokenShape& shape = arguments.shape;
  const std::int64_t rows = shape.rows();
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * V;
  if (column >= shape.channels) return;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kRows; first < rows;
       first += std::int64_t{gridDim.x} * kRows) {
    Pack<T, V> inputs[kRows][Op::kInputs];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (first + r >= rows) continue;
#pragma unroll
      for (int i = 0; i < Op::kInputs; ++i) {
        const T* source = row_of<T>(shape, arguments.inputs[i], first + r) + column;
        inputs[r][i] =
            arguments.inputs[i].strides.token == 0 ? load<V>(source) : load_once<V>(source);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (first + r >= rows) continue;
      Floats<V> outputs[Op::kOutputs];
#pragma unroll
      for (int e = 0; e < V; ++e) {
        float in[Op::kInputs];
        float out[Op::kOutputs];
#pragma unroll
        for (int i = 0; i < Op::kInputs; ++i) in[i] = to_float(inputs[r][i].at[e]);
        Op::template apply<T>(in, out);
#pragma unroll
        for (int i = 0; i < Op::kOutputs; ++i) outputs[i].at[e] = out[i];
      }
#pragma unroll
      for (int i = 0; i < Op::kOutputs; ++i) {
        T* target = static_cast<T*>(arguments.outputs[i]) + (first + r) * shape.channels;
        store_once(target + column, round_to<T>(outputs[i]));
      }
    }
  }
}

template <typename Op>
cudaError_t launch(DType dtype, Arguments<Op> arguments, cudaStream_t stream) {
  TokenShape& shape = arguments.shape;
  if (shape.rows() == 0 || shape.channels == 0) return cudaSuccess;
  bool vectors = true;
  bool joined = true;
  for (const Rows& rows : arguments.inputs) {
    vectors &=
        fits_vectors(dtype, shape.channels, {rows.strides.batch, rows.strides.token}, {rows.data});
    joined &= rows.strides.batch == shape.tokens * rows.strides.token;
  }
  for (const void* output : arguments.outputs) {
    vectors &= fits_vectors(dtype, shape.channels, {}, {output});
  }
  if (joined) shape = {1, shape.rows(), shape.channels};
  return with_element_type(dtype, [&]<typename T>(T) {
    const auto start = [&]<int V>() {
      const int threads = threads_for(ceil_divide(shape.channels, V), kThreads);
      const std::int64_t pieces = ceil_divide(shape.channels, threads * V);
      if (pieces > 65535) return cudaErrorInvalidValue;  // the limit of grid y
      const std::int64_t blocks =
          std::min(ceil_divide(shape.rows(), kRows), ceil_divide(kMaxBlocks, pieces));
      const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(pieces));
      elementwise_kernel<Op, T, V><<<grid, threads, 0, stream>>>(arguments);
      return cudaGetLastError();
    };
    return vectors ? start.template operator()<kVectorWidth<T>>() : start.template operator()<1>();
  });
}

template <typename T>
__device__ float rounded_once(float value) {
  T target;
  round_to(value, target);
  return to_float(target);
}

// For the 16-bit types the fast exponential, whose error they do not show.
template <typename T>
__device__ float sigmoid(float x) {
  return __fdividef(1.0F, 1.0F + (sizeof(T) == 2 ? __expf(-x) : expf(-x)));
}

struct GatedResidualOp {
  static constexpr int kInputs = 3, kOutputs = 1;
  template <typename T>
  static __device__ void apply(const float (&in)[3], float (&out)[1]) {
    out[0] = fmaf(in[1], in[2], in[0]);
  }
};

struct SwiGluOp {
  static constexpr int kInputs = 2, kOutputs = 1;
  template <typename T>
  static __device__ void apply(const float (&in)[2], float (&out)[1]) {
    out[0] = in[0] * rounded_once<T>(in[1] * sigmoid<T>(in[1]));
  }
};

struct SwiGluBackwardOp {  // grad, value, gate
  static constexpr int kInputs = 3, kOutputs = 2;
  template <typename T>
  static __device__ void apply(const float (&in)[3], float (&out)[2]) {
    const float s = sigmoid<T>(in[2]);
    out[0] = in[0] * rounded_once<T>(in[2] * s);
    out[1] = in[0] * in[1] * (s * (1.0F + in[2] * (1.0F - s)));
  }
};

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kTwoSqrt2OverPi = 1.5957691216057308F;
constexpr float kCubic = 0.044715F;

struct GeluTanhOp {
  static constexpr int kInputs = 1, kOutputs = 1;
  template <typename T>
  static __device__ void apply(const float (&in)[1], float (&out)[1]) {
    const float x = in[0];
    out[0] = x * sigmoid<T>(kTwoSqrt2OverPi * (x + kCubic * x * x * x));
  }
};

struct GeluTanhBackwardOp {  // grad, x
  static constexpr int kInputs = 2, kOutputs = 1;
  template <typename T>
  static __device__ void apply(const float (&in)[2], float (&out)[1]) {
    const float x = in[1];
    const float s = sigmoid<T>(kTwoSqrt2OverPi * (x + kCubic * x * x * x));
    const float slope = kTwoSqrt2OverPi * (1.0F + 3.0F * kCubic * x * x);
    out[0] = in[0] * (s + x * s * (1.0F - s) * slope);
  }
};

}  // namespace

cudaError_t gated_residual(const GatedResidual& problem, cudaStream_t stream) {
  const Rows gate{problem.gate.data, {problem.gate.stride, 0}};
  return launch<GatedResidualOp>(
      problem.dtype, {problem.shape, {problem.x, problem.y, gate}, {problem.out}}, stream);
}

cudaError_t swiglu(const SwiGlu& problem, cudaStream_t stream) {
  return launch<SwiGluOp>(problem.dtype,
                          {problem.shape, {problem.value, problem.gate}, {problem.out}}, stream);
}

cudaError_t swiglu_backward(const SwiGluBackward& problem, cudaStream_t stream) {
  return launch<SwiGluBackwardOp>(problem.dtype,
                                  {problem.shape,
                                   {problem.grad, problem.value, problem.gate},
                                   {problem.grad_value, problem.grad_gate}},
                                  stream);
}

cudaError_t gelu_tanh(const GeluTanh& problem, cudaStream_t stream) {
  return launch<GeluTanhOp>(problem.dtype, {problem.shape, {problem.x}, {problem.out}}, stream);
}

cudaError_t gelu_tanh_backward(const GeluTanhBackward& problem, cudaStream_t stream) {
  return launch<GeluTanhBackwardOp>(
      problem.dtype, {problem.shape, {problem.grad, problem.x}, {problem.grad_x}}, stream);
}

}  // namespace pantograph::kernels
