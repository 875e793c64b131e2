#include "ops/token_ops/token_ops.h"

#include "core/check.h"
#include "ops/token_ops/cuda.h"
#include "ops/token_ops/reference.h"

namespace pantograph::ops {
namespace {

bool on_gpu(const Device& device) {
  return device.kind == DeviceKind::kCuda;
}

void check_type(const char* op, DType dtype, const Device& device) {
  const bool computes = dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
  if (!computes && (dtype != DType::kF64 || on_gpu(device))) {
    fail(ErrorKind::kInvalidArgument, op, " got ", to_string(dtype),
         on_gpu(device) ? " on a GPU" : "",
         ": it computes on f32, bf16 and f16, and on a CPU on f64");
  }
}

// Every element count of the op must fit 63 bits with room for the bytes.
void check_sizes(const char* op, std::int64_t batch, std::int64_t tokens, std::int64_t channels) {
  std::int64_t bytes = 8;
  if (batch < 0 || tokens < 0 || channels < 0 || !checked_multiply(bytes, batch, bytes) ||
      !checked_multiply(bytes, tokens, bytes) || !checked_multiply(bytes, channels, bytes)) {
    fail(ErrorKind::kInvalidArgument, op, " got the impossible sizes [", batch, ", ", tokens, ", ",
         channels, "]");
  }
}

template <typename Problem>
void check_rows(const char* op, const Problem& problem, const Device& device) {
  check_type(op, problem.dtype, device);
  check_sizes(op, problem.shape.batch, problem.shape.tokens, problem.shape.channels);
}

template <typename Problem>
void check_norm(const char* op, const Problem& problem, const Device& device) {
  check_rows(op, problem, device);
  if (problem.shape.channels > kMaxNormChannels) {
    fail(ErrorKind::kInvalidArgument, op, " got ", problem.shape.channels,
         " channels: it takes up to ", kMaxNormChannels);
  }
}

template <typename Problem>
void check_heads(const char* op, const Problem& problem, const Device& device) {
  constexpr std::int64_t kMaxHeads = 65536;
  check_type(op, problem.dtype, device);
  if (problem.heads < 0 || problem.heads > kMaxHeads) {
    fail(ErrorKind::kInvalidArgument, op, " got ", problem.heads, " heads: it takes up to ",
         kMaxHeads);
  }
  if (problem.head_dim < 2 || problem.head_dim % 2 != 0 || problem.head_dim > kMaxHeadDim) {
    fail(ErrorKind::kInvalidArgument, op, " got heads of ", problem.head_dim,
         " channels: it takes an even number from 2 to ", kMaxHeadDim);
  }
  check_sizes(op, problem.batch, problem.tokens, problem.heads * problem.head_dim);
  if ((problem.cos == nullptr) != (problem.sin == nullptr)) {
    fail(ErrorKind::kInvalidArgument, op, " got only one of the tables cos and sin");
  }
}

}  // namespace

void qk_rmsnorm_rope(const QkRmsNormRope& problem, const Target& target) {
  check_heads("qk_rmsnorm_rope", problem, target.device);
  on_gpu(target.device) ? cuda::qk_rmsnorm_rope(problem, target)
                        : reference::qk_rmsnorm_rope(problem);
}

void qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem, void* workspace,
                              const Target& target) {
  check_heads("qk_rmsnorm_rope_backward", problem, target.device);
  on_gpu(target.device) ? cuda::qk_rmsnorm_rope_backward(problem, workspace, target)
                        : reference::qk_rmsnorm_rope_backward(problem);
}

void layer_norm_modulate(const LayerNormModulate& problem, const Target& target) {
  check_norm("layer_norm_modulate", problem, target.device);
  on_gpu(target.device) ? cuda::layer_norm_modulate(problem, target)
                        : reference::layer_norm_modulate(problem);
}

void layer_norm_modulate_backward(const LayerNormModulateBackward& problem, void* workspace,
                                  const Target& target) {
  check_norm("layer_norm_modulate_backward", problem, target.device);
  on_gpu(target.device) ? cuda::layer_norm_modulate_backward(problem, workspace, target)
                        : reference::layer_norm_modulate_backward(problem);
}

void gated_residual(const GatedResidual& problem, const Target& target) {
  check_rows("gated_residual", problem, target.device);
  on_gpu(target.device) ? cuda::gated_residual(problem, target)
                        : reference::gated_residual(problem);
}

void gated_residual_backward(const GatedResidualBackward& problem, void* workspace,
                             const Target& target) {
  check_rows("gated_residual_backward", problem, target.device);
  on_gpu(target.device) ? cuda::gated_residual_backward(problem, workspace, target)
                        : reference::gated_residual_backward(problem);
}

void swiglu(const SwiGlu& problem, const Target& target) {
  check_rows("swiglu", problem, target.device);
  on_gpu(target.device) ? cuda::swiglu(problem, target) : reference::swiglu(problem);
}

void swiglu_backward(const SwiGluBackward& problem, const Target& target) {
  check_rows("swiglu_backward", problem, target.device);
  on_gpu(target.device) ? cuda::swiglu_backward(problem, target)
                        : reference::swiglu_backward(problem);
}

void gelu_tanh(const GeluTanh& problem, const Target& target) {
  check_rows("gelu_tanh", problem, target.device);
  on_gpu(target.device) ? cuda::gelu_tanh(problem, target) : reference::gelu_tanh(problem);
}

void gelu_tanh_backward(const GeluTanhBackward& problem, const Target& target) {
  check_rows("gelu_tanh_backward", problem, target.device);
  on_gpu(target.device) ? cuda::gelu_tanh_backward(problem, target)
                        : reference::gelu_tanh_backward(problem);
}

std::int64_t workspace_bytes(const QkRmsNormRopeBackward& problem, const Device& device) {
  check_heads("qk_rmsnorm_rope_backward", problem, device);
  return on_gpu(device) ? cuda::workspace_bytes(problem, device) : 0;
}

std::int64_t workspace_bytes(const LayerNormModulateBackward& problem, const Device& device) {
  check_norm("layer_norm_modulate_backward", problem, device);
  return on_gpu(device) ? cuda::workspace_bytes(problem, device) : 0;
}

std::int64_t workspace_bytes(const GatedResidualBackward& problem, const Device& device) {
  check_rows("gated_residual_backward", problem, device);
  return on_gpu(device) ? cuda::workspace_bytes(problem, device) : 0;
}

}  // namespace pantograph::ops
