#include "ops/token_ops/cuda.h"

#include "core/check.h"
#include "kernels/token_ops/launch.h"

namespace pantograph::ops::cuda {
namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const bool absent = status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver ||
                      status == cudaErrorNoKernelImageForDevice;
  fail(absent ? ErrorKind::kUnsupported : ErrorKind::kInternal, what,
       " failed on the GPU: ", cudaGetErrorString(status));
}

// The runtime's current device belongs to the thread, and a caller's own copy of the runtime may
// have chosen another than ours did last.
cudaStream_t enter(const Target& target) {
  check(cudaSetDevice(target.device.index), "choosing the device");
  return static_cast<cudaStream_t>(target.stream);
}

int multiprocessors(const Device& device) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device.index),
        "asking for the number of multiprocessors");
  return count;
}

}  // namespace

void qk_rmsnorm_rope(const QkRmsNormRope& problem, const Target& target) {
  check(kernels::qk_rmsnorm_rope(problem, enter(target)), "qk_rmsnorm_rope");
}

void layer_norm_modulate(const LayerNormModulate& problem, const Target& target) {
  check(kernels::layer_norm_modulate(problem, enter(target)), "layer_norm_modulate");
}

void gated_residual(const GatedResidual& problem, const Target& target) {
  check(kernels::gated_residual(problem, enter(target)), "gated_residual");
}

void swiglu(const SwiGlu& problem, const Target& target) {
  check(kernels::swiglu(problem, enter(target)), "swiglu");
}

void swiglu_backward(const SwiGluBackward& problem, const Target& target) {
  check(kernels::swiglu_backward(problem, enter(target)), "swiglu_backward");
}

void gelu_tanh(const GeluTanh& problem, const Target& target) {
  check(kernels::gelu_tanh(problem, enter(target)), "gelu_tanh");
}

void gelu_tanh_backward(const GeluTanhBackward& problem, const Target& target) {
  check(kernels::gelu_tanh_backward(problem, enter(target)), "gelu_tanh_backward");
}

void qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem, void* workspace,
                              const Target& target) {
  const cudaStream_t stream = enter(target);
  check(kernels::qk_rmsnorm_rope_backward(problem, static_cast<float*>(workspace),
                                          multiprocessors(target.device), stream),
        "qk_rmsnorm_rope_backward");
}

void layer_norm_modulate_backward(const LayerNormModulateBackward& problem, void* workspace,
                                  const Target& target) {
  const cudaStream_t stream = enter(target);
  check(kernels::layer_norm_modulate_backward(problem, static_cast<float*>(workspace),
                                              multiprocessors(target.device), stream),
        "layer_norm_modulate_backward");
}

void gated_residual_backward(const GatedResidualBackward& problem, void* workspace,
                             const Target& target) {
  const cudaStream_t stream = enter(target);
  check(kernels::gated_residual_backward(problem, static_cast<float*>(workspace),
                                         multiprocessors(target.device), stream),
        "gated_residual_backward");
}

std::int64_t workspace_bytes(const QkRmsNormRopeBackward& problem, const Device& device) {
  return kernels::workspace_bytes(problem, multiprocessors(device));
}

std::int64_t workspace_bytes(const LayerNormModulateBackward& problem, const Device& device) {
  return kernels::workspace_bytes(problem, multiprocessors(device));
}

std::int64_t workspace_bytes(const GatedResidualBackward& problem, const Device& device) {
  return kernels::workspace_bytes(problem, multiprocessors(device));
}

}  // namespace pantograph::ops::cuda
