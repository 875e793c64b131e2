// The token ops on a GPU; cuda.cc where CUDA is built, no_cuda.cc, which throws, where it is not.
#pragma once

#include "ops/token_ops/token_ops.h"

namespace pantograph::ops::cuda {

void qk_rmsnorm_rope(const QkRmsNormRope& problem, const Target& target);
void layer_norm_modulate(const LayerNormModulate& problem, const Target& target);
void gated_residual(const GatedResidual& problem, const Target& target);
void swiglu(const SwiGlu& problem, const Target& target);
void swiglu_backward(const SwiGluBackward& problem, const Target& target);
void gelu_tanh(const GeluTanh& problem, const Target& target);
void gelu_tanh_backward(const GeluTanhBackward& problem, const Target& target);
void qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem, void* workspace,
                              const Target& target);
void layer_norm_modulate_backward(const LayerNormModulateBackward& problem, void* workspace,
                                  const Target& target);
void gated_residual_backward(const GatedResidualBackward& problem, void* workspace,
                             const Target& target);
std::int64_t workspace_bytes(const QkRmsNormRopeBackward& problem, const Device& device);
std::int64_t workspace_bytes(const LayerNormModulateBackward& problem, const Device& device);
std::int64_t workspace_bytes(const GatedResidualBackward& problem, const Device& device);

}  // namespace pantograph::ops::cuda
