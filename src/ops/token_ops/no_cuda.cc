#include "core/check.h"
#include "ops/token_ops/cuda.h"

namespace pantograph::ops::cuda {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::kUnsupported,
       "the tensors are on a GPU, but this build has no CUDA code: build where a CUDA toolkit is, "
       "with -DPANTOGRAPH_CUDA=ON");
}

}  // namespace

void qk_rmsnorm_rope(const QkRmsNormRope&, const Target&) {
  refuse();
}
void layer_norm_modulate(const LayerNormModulate&, const Target&) {
  refuse();
}
void gated_residual(const GatedResidual&, const Target&) {
  refuse();
}
void swiglu(const SwiGlu&, const Target&) {
  refuse();
}
void swiglu_backward(const SwiGluBackward&, const Target&) {
  refuse();
}
void gelu_tanh(const GeluTanh&, const Target&) {
  refuse();
}
void gelu_tanh_backward(const GeluTanhBackward&, const Target&) {
  refuse();
}
void qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward&, void*, const Target&) {
  refuse();
}
void layer_norm_modulate_backward(const LayerNormModulateBackward&, void*, const Target&) {
  refuse();
}
void gated_residual_backward(const GatedResidualBackward&, void*, const Target&) {
  refuse();
}
std::int64_t workspace_bytes(const QkRmsNormRopeBackward&, const Device&) {
  refuse();
}
std::int64_t workspace_bytes(const LayerNormModulateBackward&, const Device&) {
  refuse();
}
std::int64_t workspace_bytes(const GatedResidualBackward&, const Device&) {
  refuse();
}

}  // namespace pantograph::ops::cuda
