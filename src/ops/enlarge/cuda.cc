#include "ops/cuda.h"
#include "device/check.h"
#include "kernels/wan_vae/launch.h"

namespace pantograph::ops::cuda {

// Four convolutions at x's size, of which two at a time make every second row of y.
void enlarge(const Context& context, const EnlargeWeights& weights, const Enlargement& p) {
  const FramesView& x = p.x;
  const std::int64_t channels = p.y.channels, copies = x.channels / channels;
  auto* stream = static_cast<cudaStream_t>(context.stream);
  const auto frames_like_x = [&] {
    return Frames(*context.arena, x.dtype, p.y.frames, x.height, x.width, channels);
  };
  Frames split;
  FramesView frames = x;
  if (copies > 1) {  // a convolution wants whole frames
    split = frames_like_x();
    frames = split.view();
    if (!context.planning) {
      device::check(kernels::split_frames({.dtype = x.dtype,
                                           .frames = x.frames,
                                           .height = x.height,
                                           .width = x.width,
                                           .channels = channels,
                                           .copies = copies,
                                           .x = x.data,
                                           .y = frames.data},
                                          stream));
    }
  }
  const Frames even = frames_like_x(), odd = frames_like_x();
  for (std::int64_t row = 0; row < 2; ++row) {
    conv3d(context, weights.phase(row, 0), frames, even.view(), nullptr, {row, 0});
    conv3d(context, weights.phase(row, 1), frames, odd.view(), nullptr, {row, 1});
    if (context.planning) continue;
    device::check(kernels::join_columns({.dtype = x.dtype,
                                         .duplicate = p.sizes(),
                                         .row = row,
                                         .x = p.shortcut.data,
                                         .even = even->data,
                                         .odd = odd->data,
                                         .y = p.y.data},
                                        stream));
  }
}

}  // namespace pantograph::ops::cuda
