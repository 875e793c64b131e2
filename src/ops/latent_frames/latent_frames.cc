#include "ops/latent_frames/latent_frames.h"

#include <algorithm>
#include <vector>

#include "core/convert.h"
#include "core/parallel.h"

namespace pantograph::ops {

void load_latents(const Context& context, const TensorView& latents, std::span<const float> scale,
                  std::span<const float> shift, const FramesView& y) {
  require(latents.rank == 4 && latents.shape[0] == y.channels && latents.shape[1] == y.frames &&
              latents.shape[2] == y.height && latents.shape[3] == y.width &&
              static_cast<std::int64_t>(scale.size()) == y.channels &&
              static_cast<std::int64_t>(shift.size()) == y.channels,
          "load_latents: latents and frames disagree in shape");
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
          target[column * y.channels + c] = value * scale[channel] + shift[channel];
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
