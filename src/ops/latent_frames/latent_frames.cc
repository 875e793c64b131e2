#include "ops/latent_frames/latent_frames.h"

#include <algorithm>
#include <vector>

#include "core/convert.h"
#include "core/parallel.h"
#include "device/runtime.h"
#include "ops/cuda.h"

namespace pantograph::ops {

namespace {

// What lies on the CPU, without gaps. Rows that have none are copied whole: a GPU waits for this
// before each pass.
std::vector<std::byte> gather(const TensorView& latents) {
  const std::size_t element = size_of(latents.dtype);
  const std::int64_t run = latents.strides[3] == 1 ? latents.shape[3] : 1;
  std::vector<std::byte> dense(latents.bytes());
  const auto* base = static_cast<const std::byte*>(latents.data);
  std::byte* target = dense.data();
  for (std::int64_t c = 0; c < latents.shape[0]; ++c) {
    for (std::int64_t t = 0; t < latents.shape[1]; ++t) {
      for (std::int64_t y = 0; y < latents.shape[2]; ++y) {
        for (std::int64_t x = 0; x < latents.shape[3]; x += run) {
          const std::int64_t at = c * latents.strides[0] + t * latents.strides[1] +
                                  y * latents.strides[2] + x * latents.strides[3];
          target = std::copy_n(base + at * static_cast<std::int64_t>(element),
                               static_cast<std::size_t>(run) * element, target);
        }
      }
    }
  }
  return dense;
}

// From the CPU or the GPU to a GPU, by way of a dense copy of what lies on the CPU.
void load_on_gpu(const Context& context, const TensorView& latents, const Parameter& scale,
                 const Parameter& shift, const FramesView& y) {
  const auto bytes = static_cast<std::size_t>(latents.elements()) * sizeof(float);
  const Arena::Block staged = context.arena->take(bytes);
  if (context.planning) return;
  if (latents.device.kind == DeviceKind::kCuda) {
    return cuda::load_latents(context, latents, scale, shift, y);
  }
  const std::vector<std::byte> dense = gather(latents);
  device::copy(staged.data(), dense.data(), dense.size(), context.stream);
  cuda::load_latents(
      context, TensorView::dense(staged.data(), latents.dtype, latents.sizes(), context.device),
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
