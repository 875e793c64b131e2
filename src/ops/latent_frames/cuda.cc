#include <limits>

#include "device/check.h"
#include "kernels/wan_vae/launch.h"
#include "ops/cuda.h"

namespace pantograph::ops::cuda {
namespace {

cudaStream_t stream_of(const Context& context) {
  return static_cast<cudaStream_t>(context.stream);
}

// Latents [C, n, h, w]; the rest is the caller's.
kernels::LoadLatents describe(const TensorView& latents) {
  kernels::LoadLatents problem{.latents_dtype = latents.dtype,
                               .frames = latents.shape[1],
                               .height = latents.shape[2],
                               .width = latents.shape[3],
                               .channels = latents.shape[0],
                               .latents = latents.data};
  for (int i = 0; i < 4; ++i) problem.strides[i] = latents.strides[i];
  return problem;
}

}  // namespace

void load_latents(const Context& context, const TensorView& latents, const Parameter& scale,
                  const Parameter& shift, const FramesView& y) {
  kernels::LoadLatents problem = describe(latents);
  problem.dtype = y.dtype;
  problem.scale = scale.on(context.device);
  problem.shift = shift.on(context.device);
  problem.y = y.data;
  device::check(kernels::load_latents(problem, stream_of(context)));
}

std::optional<std::int64_t> first_frame_not_finite(const Context& context,
                                                   const TensorView& latents) {
  constexpr int kNone = std::numeric_limits<int>::max();
  const device::Memory frame(context.device, sizeof(int), {}, context.stream);
  int first = kNone;
  device::copy(frame.data(), &first, sizeof first, context.stream);
  device::check(kernels::first_frame_not_finite(
      describe(latents), reinterpret_cast<int*>(frame.data()), stream_of(context)));
  device::copy(&first, frame.data(), sizeof first, context.stream);
  device::synchronize(context.stream);
  if (first == kNone) return std::nullopt;
  return first;
}

void unpatchify(const Context& context, const FramesView& x, std::int64_t patch, PixelLayout layout,
                std::byte* pixels) {
  device::check(kernels::unpatchify({.dtype = x.dtype,
                                     .frames = x.frames,
                                     .height = x.height,
                                     .width = x.width,
                                     .patch = patch,
                                     .layout = layout,
                                     .x = x.data,
                                     .pixels = pixels},
                                    stream_of(context)));
}

}  // namespace pantograph::ops::cuda
