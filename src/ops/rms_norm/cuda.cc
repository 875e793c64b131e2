#include "ops/cuda.h"
#include "device/check.h"
#include "kernels/wan_vae/launch.h"

namespace pantograph::ops::cuda {

void rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
              Activation activation, const FramesView& y) {
  device::check(kernels::rms_norm({.dtype = x.dtype,
                                   .rows = x.positions(),
                                   .channels = x.channels,
                                   .silu = activation == Activation::kSilu,
                                   .x = x.data,
                                   .gamma = gamma.on(context.device),
                                   .y = y.data},
                                  static_cast<cudaStream_t>(context.stream)));
}

}  // namespace pantograph::ops::cuda
