#include "ops/cuda.h"
#include "device/check.h"
#include "kernels/wan_vae/launch.h"

namespace pantograph::ops::cuda {

void rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
              Activation activation, const FramesView& y) {
  cuda::causal_rms_norm(context, x, gamma, activation, y, FramesView{});
}

void causal_rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
                     Activation activation, const FramesView& y, const FramesView& history) {
  device::check(kernels::rms_norm({.dtype = x.dtype,
                                   .rows = x.positions(),
                                   .channels = x.channels,
                                   .silu = activation == Activation::kSilu,
                                   .x = x.data,
                                   .gamma = gamma.on(context.device),
                                   .y = y.data,
                                   .history = history.data,
                                   .history_rows = history.positions()},
                                  static_cast<cudaStream_t>(context.stream)));
}

}  // namespace pantograph::ops::cuda
