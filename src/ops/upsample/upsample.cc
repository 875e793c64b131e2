#include "ops/upsample/upsample.h"

#include <cstring>

#include "core/parallel.h"
#include "ops/cuda.h"

namespace pantograph::ops {

void nearest_upsample(const Context& context, const FramesView& x, const FramesView& y) {
  const std::int64_t copies = x.frames == 0 ? 1 : y.frames / x.frames;  // frames at each position
  require(y.frames == copies * x.frames && x.channels == copies * y.channels &&
              y.height == 2 * x.height && y.width == 2 * x.width,
          "nearest_upsample: y is not x enlarged");
  if (context.planning) return;
  context.stop_if_cancelled();
  if (y.frames == 0) return;
  if (context.device.kind == DeviceKind::kCuda) return cuda::nearest_upsample(context, x, y);
  const std::int64_t channels = y.channels;
  const auto bytes = static_cast<std::size_t>(channels) * sizeof(float);
  parallel_for(y.frames * y.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t frame = line / y.height, row = line % y.height;
      const float* source = x.f32() + (frame / copies * x.height + row / 2) * x.width * x.channels +
                            frame % copies * channels;
      float* target = y.f32() + line * y.width * channels;
      for (std::int64_t column = 0; column < y.width; ++column) {
        std::memcpy(target + column * channels, source + column / 2 * x.channels, bytes);
      }
    }
  });
}

void duplicate_upsample(const Context& context, const FramesView& x, std::int64_t temporal_factor,
                        bool first, const FramesView& y) {
  const std::int64_t ft = temporal_factor, skipped = first ? ft - 1 : 0;
  const std::int64_t repeats = y.channels * ft * 4 / x.channels;
  require(y.frames == ft * x.frames - skipped && y.height == 2 * x.height &&
              y.width == 2 * x.width && repeats > 0 && repeats * x.channels == y.channels * ft * 4,
          "duplicate_upsample: y is not x enlarged");
  if (context.planning) return;
  context.stop_if_cancelled();
  if (context.device.kind == DeviceKind::kCuda) {
    return cuda::duplicate_upsample(context, x, ft, skipped, y);
  }
  parallel_for(y.frames * y.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t frame = line / y.height + skipped, row = line % y.height;
      const std::int64_t a = frame % ft;
      const float* source = x.f32() + (frame / ft * x.height + row / 2) * x.width * x.channels;
      float* target = y.f32() + line * y.width * y.channels;
      for (std::int64_t column = 0; column < y.width; ++column, target += y.channels) {
        const float* in = source + column / 2 * x.channels;
        const std::int64_t offset = 4 * a + 2 * (row % 2) + column % 2;
        for (std::int64_t c = 0; c < y.channels; ++c)
          target[c] = in[(4 * ft * c + offset) / repeats];
      }
    }
  });
}

}  // namespace pantograph::ops
