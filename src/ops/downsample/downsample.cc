#include "ops/downsample/downsample.h"

#include <cstring>

#include "core/parallel.h"

namespace pantograph::ops {

void take_odd_positions(const Context& context, const FramesView& x, const FramesView& y) {
  require(y.frames == x.frames && 2 * y.height == x.height && 2 * y.width == x.width &&
              y.channels == x.channels,
          "take_odd_positions: y is not x halved");
  if (context.planning) return;
  const auto bytes = static_cast<std::size_t>(x.channels) * sizeof(float);
  parallel_for(y.frames * y.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const float* source = x.f32() + (2 * line + 1) * x.width * x.channels;
      float* target = y.f32() + line * y.width * y.channels;
      for (std::int64_t column = 0; column < y.width; ++column) {
        std::memcpy(target + column * y.channels, source + (2 * column + 1) * x.channels, bytes);
      }
    }
  });
}

void take_odd_frames(const Context& context, const FramesView& x, const FramesView& y) {
  require(2 * y.frames == x.frames && y.frame_elements() == x.frame_elements(),
          "take_odd_frames: y is not every second frame of x");
  if (context.planning) return;
  for (std::int64_t t = 0; t < y.frames; ++t) {
    std::memcpy(y.slice(t, 1).data, x.slice(2 * t + 1, 1).data, y.frame_bytes());
  }
}

void add_averaged(const Context& context, const FramesView& x, std::int64_t temporal_factor,
                  std::int64_t spatial_factor, const FramesView& y) {
  const std::int64_t ft = temporal_factor, fs = spatial_factor;
  const std::int64_t pad = y.frames * ft - x.frames;
  const std::int64_t group = x.channels * ft * fs * fs / y.channels;
  require(pad >= 0 && pad < ft && fs * y.height == x.height && fs * y.width == x.width &&
              group > 0 && group * y.channels == x.channels * ft * fs * fs,
          "add_averaged: y is not x averaged");
  if (context.planning) return;
  context.stop_if_cancelled();
  const float weight = 1.0F / static_cast<float>(group);
  parallel_for(y.frames * y.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t frame = line / y.height, row = line % y.height;
      float* target = y.f32() + line * y.width * y.channels;
      for (std::int64_t column = 0; column < y.width; ++column) {
        for (std::int64_t o = 0; o < y.channels; ++o) {
          float sum = 0;
          for (std::int64_t m = group * o; m < group * (o + 1); ++m) {
            const std::int64_t t = ft * frame + m / (fs * fs) % ft - pad;
            if (t < 0) continue;
            const std::int64_t r = fs * row + m / fs % fs, c = fs * column + m % fs;
            sum += x.f32()[((t * x.height + r) * x.width + c) * x.channels + m / (ft * fs * fs)];
          }
          *target++ += sum * weight;
        }
      }
    }
  });
}

void patchify(const Context& context, const FramesView& pixels, std::int64_t patch,
              const FramesView& y) {
  require(pixels.channels == 3 && y.channels == 3 * patch * patch && y.frames == pixels.frames &&
              pixels.height == patch * y.height && pixels.width == patch * y.width,
          "patchify: y is not pixels folded");
  if (context.planning) return;
  parallel_for(y.frames * y.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      for (std::int64_t column = 0; column < y.width; ++column) {
        float* target = y.f32() + (line * y.width + column) * y.channels;
        for (std::int64_t a = 0; a < patch; ++a) {
          const float* source =
              pixels.f32() + ((line * patch + a) * pixels.width + column * patch) * 3;
          for (std::int64_t b = 0; b < patch; ++b) {
            for (std::int64_t k = 0; k < 3; ++k) {
              target[patch * patch * k + patch * b + a] = source[b * 3 + k];
            }
          }
        }
      }
    }
  });
}

}  // namespace pantograph::ops
