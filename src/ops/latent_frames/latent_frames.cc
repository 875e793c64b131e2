#include "ops/latent_frames/latent_frames.h"

#include <algorithm>
#include <vector>

#include "core/convert.h"
#include "core/parallel.h"
#include "device/runtime.h"
#include "ops/cuda.h"

namespace pantograph::ops {

namespace {

// From the CPU or the GPU to a GPU, by way of a dense copy of what lies on the CPU.
void load_on_gpu(const Context& context, const TensorView& latents, const Parameter& scale,
                 const Parameter& shift, const FramesView& y) {
  const auto bytes = static_cast<std::size_t>(latents.elements()) * sizeof(float);
  const Arena::Block staged = context.arena->take(bytes);
  if (context.planning) return;
  if (latents.device.kind == DeviceKind::kCuda) {
    return cuda::load_latents(context, latents, scale, shift, y);
  }
  std::vector<float> dense(static_cast<std::size_t>(latents.elements()));
  const auto element = static_cast<std::int64_t>(size_of(latents.dtype));
  const auto* base = static_cast<const std::byte*>(latents.data);
  for (std::int64_t i = 0; i < latents.elements(); ++i) {
    std::int64_t rest = i, at = 0;
    for (int dimension = 3; dimension >= 0; --dimension) {
      at += rest % latents.shape[dimension] * latents.strides[dimension];
      rest /= latents.shape[dimension];
    }
    convert_to_f32(latents.dtype, base + at * element, &dense[static_cast<std::size_t>(i)], 1);
  }
  device::copy(staged.data(), dense.data(), bytes, context.stream);
  cuda::load_latents(context,
                     TensorView::dense(staged.data(), DType::kF32, latents.sizes(), context.device),
                     scale, shift, y);
}

}  // namespace

void load_latents(const Context& context, const TensorView& latents, const Parameter& scale,
                  const Parameter& shift, const FramesView& y) {
  require(latents.rank == 4 && latents.shape[0] == y.channels && latents.shape[1] == y.frames &&
              latents.shape[2] == y.height && latents.shape[3] == y.width &&
              scale.size() == y.channels && shift.size() == y.channels,
          "load_latents: latents and frames disagree in shape");
  if (context.device.kind == DeviceKind::kCuda) {
    return load_on_gpu(context, latents, scale, shift, y);
  }
  if (context.planning) return;
  const auto element = static_cast<std::int64_t>(size_of(latents.dtype));
  const auto* base = static_cast<const std::byte*>(latents.data);
  parallel_for(y.frames * y.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t frame = line / y.height, row = line % y.height;
      float* target = y.f32() + line * y.width * y.channels;
      for (std::int64_t c = 0; c < y.channels; ++c) {
        const std::int64_t at =
            c * latents.strides[0] + frame * latents.strides[1] + row * latents.strides[2];
        for (std::int64_t column = 0; column < y.width; ++column) {
          float value;
          convert_to_f32(latents.dtype, base + (at + column * latents.strides[3]) * element, &value,
                         1);
          const auto channel = static_cast<std::size_t>(c);
          target[column * y.channels + c] =
              value * scale.values()[channel] + shift.values()[channel];
        }
      }
    }
  });
}

void unpatchify(const Context& context, const FramesView& x, std::int64_t patch,
                const FramesView& pixels) {
  require(x.channels == 3 * patch * patch && pixels.channels == 3 && pixels.frames == x.frames &&
              pixels.height == patch * x.height && pixels.width == patch * x.width,
          "unpatchify: pixels are not x unfolded");
  if (context.planning) return;
  parallel_for(pixels.frames * pixels.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t frame = line / pixels.height, row = line % pixels.height;
      const float* source = x.f32() + (frame * x.height + row / patch) * x.width * x.channels;
      float* target = pixels.f32() + line * pixels.width * 3;
      for (std::int64_t column = 0; column < pixels.width; ++column) {
        const float* in = source + column / patch * x.channels;
        const std::int64_t offset = patch * (column % patch) + row % patch;
        for (std::int64_t k = 0; k < 3; ++k) {
          *target++ = std::clamp(in[patch * patch * k + offset], -1.0F, 1.0F);
        }
      }
    }
  });
}

}  // namespace pantograph::ops
