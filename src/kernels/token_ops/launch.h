// The token ops on a GPU: each call checks nothing, allocates nothing and returns after launching.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/token_ops/problem.h"

namespace pantograph::kernels {

cudaError_t qk_rmsnorm_rope(const QkRmsNormRope& problem, cudaStream_t stream);
cudaError_t layer_norm_modulate(const LayerNormModulate& problem, cudaStream_t stream);
cudaError_t gated_residual(const GatedResidual& problem, cudaStream_t stream);
cudaError_t swiglu(const SwiGlu& problem, cudaStream_t stream);
cudaError_t swiglu_backward(const SwiGluBackward& problem, cudaStream_t stream);
cudaError_t gelu_tanh(const GeluTanh& problem, cudaStream_t stream);
cudaError_t gelu_tanh_backward(const GeluTanhBackward& problem, cudaStream_t stream);

// The three with gradients that are sums over rows write one partial sum a block into `workspace`
// and add these up in a second launch, in a fixed order. The number of blocks follows from the
// problem and the GPU's number of multiprocessors, so results repeat on GPUs of one kind.
std::int64_t workspace_bytes(const QkRmsNormRopeBackward& problem, int multiprocessors);
std::int64_t workspace_bytes(const LayerNormModulateBackward& problem, int multiprocessors);
std::int64_t workspace_bytes(const GatedResidualBackward& problem, int multiprocessors);
cudaError_t qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem, float* workspace,
                                     int multiprocessors, cudaStream_t stream);
cudaError_t layer_norm_modulate_backward(const LayerNormModulateBackward& problem, float* workspace,
                                         int multiprocessors, cudaStream_t stream);
cudaError_t gated_residual_backward(const GatedResidualBackward& problem, float* workspace,
                                    int multiprocessors, cudaStream_t stream);

}  // namespace pantograph::kernels
