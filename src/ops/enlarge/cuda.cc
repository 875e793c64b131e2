#include "ops/cuda.h"
#include "device/check.h"
#include "kernels/wan_vae/launch.h"

namespace pantograph::ops::cuda {

// Four convolutions at x's size, whose results are added to every second row and column of y.
void enlarge(const Context& context, const EnlargeWeights& weights, const FramesView& x,
             const FramesView& y) {
  const std::int64_t copies = x.channels / y.channels;
  auto* stream = static_cast<cudaStream_t>(context.stream);
  Frames split;
  FramesView frames = x;
  if (copies > 1) {  // a convolution wants whole frames
    split = Frames(*context.arena, x.dtype, copies * x.frames, x.height, x.width, y.channels);
    frames = split.view();
    if (!context.planning) {
      device::check(kernels::split_frames({.dtype = x.dtype,
                                           .frames = x.frames,
                                           .height = x.height,
                                           .width = x.width,
                                           .channels = y.channels,
                                           .copies = copies,
                                           .x = x.data,
                                           .y = frames.data},
                                          stream));
    }
  }
  const Frames phase(*context.arena, y.dtype, y.frames, x.height, x.width, y.channels);
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t column = 0; column < 2; ++column) {
      conv3d(context, weights.phase(row, column), frames, phase.view(), nullptr, {row, column});
      if (context.planning) continue;
      device::check(kernels::add_phase({.dtype = y.dtype,
                                        .frames = y.frames,
                                        .height = x.height,
                                        .width = x.width,
                                        .channels = y.channels,
                                        .row = row,
                                        .column = column,
                                        .x = phase->data,
                                        .y = y.data},
                                       stream));
    }
  }
}

}  // namespace pantograph::ops::cuda
