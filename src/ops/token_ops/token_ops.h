// The fused token ops of the DiT, forward and backward, on a CPU or a GPU. What each computes, and
// the layout of its tensors, stands in kernels/token_ops/problem.h.
//
// Each call throws Error(kInvalidArgument) on sizes or a type it cannot take and
// Error(kUnsupported) on a GPU that this build or machine does not have. On a GPU it returns after
// launching on `stream`. Equal inputs give equal bits.
#pragma once

#include <cstdint>

#include "kernels/token_ops/problem.h"

namespace pantograph::ops {

inline constexpr std::int64_t kMaxHeadDim = 512;
inline constexpr std::int64_t kMaxNormChannels = 16384;

// Where to run: `stream` is a cudaStream_t of the GPU, unused on a CPU.
struct Target {
  Device device{};
  void* stream = nullptr;
};

void qk_rmsnorm_rope(const QkRmsNormRope& problem, const Target& target);
void layer_norm_modulate(const LayerNormModulate& problem, const Target& target);
void gated_residual(const GatedResidual& problem, const Target& target);
void swiglu(const SwiGlu& problem, const Target& target);
void swiglu_backward(const SwiGluBackward& problem, const Target& target);
void gelu_tanh(const GeluTanh& problem, const Target& target);
void gelu_tanh_backward(const GeluTanhBackward& problem, const Target& target);

// These need `workspace_bytes` of memory on the device, aligned to 256, until the work is done.
void qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem, void* workspace,
                              const Target& target);
void layer_norm_modulate_backward(const LayerNormModulateBackward& problem, void* workspace,
                                  const Target& target);
void gated_residual_backward(const GatedResidualBackward& problem, void* workspace,
                             const Target& target);
std::int64_t workspace_bytes(const QkRmsNormRopeBackward& problem, const Device& device);
std::int64_t workspace_bytes(const LayerNormModulateBackward& problem, const Device& device);
std::int64_t workspace_bytes(const GatedResidualBackward& problem, const Device& device);

}  // namespace pantograph::ops
