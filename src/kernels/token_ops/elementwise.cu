// Ops without sums: every element of the outputs from the same element of the inputs.
#include "kernels/token_ops/dispatch.cuh"
#include "kernels/token_ops/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kElements = 16;  // of a thread and input, in flight together

template <typename Op>
struct Arguments {
  TokenShape shape;
  Rows inputs[Op::kInputs];  // one whose token stride is 0 is a table
  void* outputs[Op::kOutputs];
};

// Grid x strides over rows, y over pieces of a row.
template <typename Op, typename T, int V>
__global__ void __launch_bounds__(kThreads)
    elementwise_kernel(const __grid_constant__ Arguments<Op> arguments) {
  constexpr int kPacks = V == 1 ? 4 : kElements / V;
  const TokenShape& shape = arguments.shape;
  const std::int64_t stride = static_cast<std::int64_t>(blockDim.x) * V;
  const std::int64_t first = blockIdx.y * stride * kPacks + threadIdx.x * V;
  for (std::int64_t row = blockIdx.x; row < shape.rows(); row += gridDim.x) {
    Pack<T, V> inputs[Op::kInputs][kPacks];
#pragma unroll
    for (int i = 0; i < Op::kInputs; ++i) {
      const Rows& rows = arguments.inputs[i];
      const T* source = row_of<T>(shape, rows, row);
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
        const std::int64_t column = first + j * stride;
        if (column >= shape.channels) continue;
        inputs[i][j] =
            rows.strides.token == 0 ? load<V>(source + column) : load_once<V>(source + column);
      }
    }
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const std::int64_t column = first + j * stride;
      if (column >= shape.channels) continue;
      Floats<V> outputs[Op::kOutputs];
#pragma unroll
      for (int e = 0; e < V; ++e) {
        float in[Op::kInputs];
        float out[Op::kOutputs];
#pragma unroll
        for (int i = 0; i < Op::kInputs; ++i) in[i] = to_float(inputs[i][j].at[e]);
        Op::template apply<T>(in, out);
#pragma unroll
        for (int i = 0; i < Op::kOutputs; ++i) outputs[i].at[e] = out[i];
      }
#pragma unroll
      for (int i = 0; i < Op::kOutputs; ++i) {
        store_once(static_cast<T*>(arguments.outputs[i]) + row * shape.channels + column,
                   round_to<T>(outputs[i]));
      }
    }
  }
}

template <typename Op>
cudaError_t launch(DType dtype, const Arguments<Op>& arguments, cudaStream_t stream) {
  const TokenShape& shape = arguments.shape;
  if (shape.rows() == 0 || shape.channels == 0) return cudaSuccess;
  bool vectors = true;
  for (const Rows& rows : arguments.inputs) {
    vectors &=
        fits_vectors(dtype, shape.channels, {rows.strides.batch, rows.strides.token}, {rows.data});
  }
  for (const void* output : arguments.outputs) {
    vectors &= fits_vectors(dtype, shape.channels, {}, {output});
  }
  return with_element_type(dtype, [&]<typename T>(T) {
    const auto start = [&]<int V>() {
      constexpr int kPacks = V == 1 ? 4 : kElements / V;
      const int threads = threads_for(ceil_divide(shape.channels, V * kPacks), kThreads);
      const std::int64_t pieces = ceil_divide(shape.channels, threads * V * kPacks);
      if (pieces > 65535) return cudaErrorInvalidValue;  // beyond the limit of grid y
      const dim3 grid(grid_for(shape.rows()), static_cast<unsigned>(pieces));
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

__device__ float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
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
    out[0] = in[0] * rounded_once<T>(in[1] * sigmoid(in[1]));
  }
};

struct SwiGluBackwardOp {  // grad, value, gate
  static constexpr int kInputs = 3, kOutputs = 2;
  template <typename T>
  static __device__ void apply(const float (&in)[3], float (&out)[2]) {
    const float s = sigmoid(in[2]);
    out[0] = in[0] * rounded_once<T>(in[2] * s);
    out[1] = in[0] * in[1] * (s * (1.0F + in[2] * (1.0F - s)));
  }
};

// 0.5 x (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kSqrt2OverPi = 0.7978845608028654F;
constexpr float kCubic = 0.044715F;

struct GeluTanhOp {
  static constexpr int kInputs = 1, kOutputs = 1;
  template <typename T>
  static __device__ void apply(const float (&in)[1], float (&out)[1]) {
    const float x = in[0];
    out[0] = 0.5F * x * (1.0F + tanhf(kSqrt2OverPi * (x + kCubic * x * x * x)));
  }
};

struct GeluTanhBackwardOp {  // grad, x
  static constexpr int kInputs = 2, kOutputs = 1;
  template <typename T>
  static __device__ void apply(const float (&in)[2], float (&out)[1]) {
    const float x = in[1];
    const float t = tanhf(kSqrt2OverPi * (x + kCubic * x * x * x));
    const float slope = kSqrt2OverPi * (1.0F + 3.0F * kCubic * x * x);
    out[0] = in[0] * (0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * slope);
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
