// The problems of the token ops from tensors, checked.
//
// Each function throws Error(kInvalidArgument), naming the tensor, what it is and what it must be,
// where types, shapes or devices disagree; and gives nullopt where all is right but some tensor
// must first be copied to be contiguous, because the kernels cannot walk it as it lies. Outputs,
// statistics and tables of angles must be dense. A pointer to a view may be null: no such tensor.
#pragma once

#include <optional>

#include "kernels/token_ops/problem.h"

namespace pantograph::ops {

// q, k [B, S, H, D]; wq, wk [D]; cos, sin [S, D/2]; rstd [2, B, S, H], of q and of k.
std::optional<QkRmsNormRope> qk_rmsnorm_rope_problem(const TensorView& q, const TensorView& k,
                                                     const TensorView& wq, const TensorView& wk,
                                                     double eps, const TensorView* cos,
                                                     const TensorView* sin, const TensorView& q_out,
                                                     const TensorView& k_out,
                                                     const TensorView* rstd);
std::optional<QkRmsNormRopeBackward> qk_rmsnorm_rope_backward_problem(
    const TensorView& grad_q_out, const TensorView& grad_k_out, const TensorView& q,
    const TensorView& k, const TensorView& wq, const TensorView& wk, const TensorView* cos,
    const TensorView* sin, const TensorView& rstd, const TensorView& grad_q,
    const TensorView& grad_k, const TensorView& grad_wq, const TensorView& grad_wk);

// x, y [B, S, C]; gate, scale, shift [B, C] or [C]; statistics [2, B, S], mean and rstd.
std::optional<LayerNormModulate> layer_norm_modulate_problem(const TensorView& x,
                                                             const TensorView& scale,
                                                             const TensorView& shift, double eps,
                                                             const TensorView& out,
                                                             const TensorView* statistics);
std::optional<LayerNormModulate> gated_residual_layer_norm_problem(
    const TensorView& x, const TensorView& y, const TensorView& gate, const TensorView& scale,
    const TensorView& shift, double eps, const TensorView& sum, const TensorView& out,
    const TensorView* statistics);
std::optional<LayerNormModulateBackward> layer_norm_modulate_backward_problem(
    const TensorView& grad, const TensorView* grad_sum, const TensorView& x,
    const TensorView& scale, const TensorView& statistics, const TensorView& grad_x,
    const TensorView& grad_scale, const TensorView& grad_shift);
std::optional<GatedResidual> gated_residual_problem(const TensorView& x, const TensorView& y,
                                                    const TensorView& gate, const TensorView& out);
std::optional<GatedResidualBackward> gated_residual_backward_problem(const TensorView& grad,
                                                                     const TensorView& y,
                                                                     const TensorView& gate,
                                                                     const TensorView& grad_y,
                                                                     const TensorView& grad_gate);

// value, gate, x [B, S, C].
std::optional<SwiGlu> swiglu_problem(const TensorView& value, const TensorView& gate,
                                     const TensorView& out);
std::optional<SwiGluBackward> swiglu_backward_problem(const TensorView& grad,
                                                      const TensorView& value,
                                                      const TensorView& gate,
                                                      const TensorView& grad_value,
                                                      const TensorView& grad_gate);
std::optional<GeluTanh> gelu_tanh_problem(const TensorView& x, const TensorView& out);
std::optional<GeluTanhBackward> gelu_tanh_backward_problem(const TensorView& grad,
                                                           const TensorView& x,
                                                           const TensorView& grad_x);

}  // namespace pantograph::ops
