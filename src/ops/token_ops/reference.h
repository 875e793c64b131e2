// The token ops as plain loops: documentation, oracle of the kernels and what a CPU runs.
#pragma once

#include "kernels/token_ops/problem.h"

namespace pantograph::ops::reference {

void qk_rmsnorm_rope(const QkRmsNormRope& problem);
void qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem);
void layer_norm_modulate(const LayerNormModulate& problem);
void layer_norm_modulate_backward(const LayerNormModulateBackward& problem);
void gated_residual(const GatedResidual& problem);
void gated_residual_backward(const GatedResidualBackward& problem);
void swiglu(const SwiGlu& problem);
void swiglu_backward(const SwiGluBackward& problem);
void gelu_tanh(const GeluTanh& problem);
void gelu_tanh_backward(const GeluTanhBackward& problem);

}  // namespace pantograph::ops::reference
