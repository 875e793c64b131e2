#include "ops/cuda.h"
#include "device/check.h"
#include "kernels/wan_vae/launch.h"

namespace pantograph::ops::cuda {

void nearest_upsample(const Context& context, const FramesView& x, const FramesView& y) {
  device::check(kernels::nearest_upsample({.dtype = x.dtype,
                                           .frames = x.frames,
                                           .height = x.height,
                                           .width = x.width,
                                           .channels = y.channels,
                                           .copies = x.channels / y.channels,
                                           .x = x.data,
                                           .y = y.data},
                                          static_cast<cudaStream_t>(context.stream)));
}

void duplicate_upsample(const Context& context, const FramesView& x, std::int64_t temporal_factor,
                        std::int64_t skipped, const FramesView& y) {
  device::check(kernels::duplicate_upsample({.frames = x.frames,
                                             .height = x.height,
                                             .width = x.width,
                                             .in_channels = x.channels,
                                             .out_channels = y.channels,
                                             .temporal_factor = temporal_factor,
                                             .skipped = skipped},
                                            x.dtype, x.data, y.data,
                                            static_cast<cudaStream_t>(context.stream)));
}

}  // namespace pantograph::ops::cuda
