#include "media/color.h"

#include <algorithm>

#include "core/parallel.h"

namespace pantograph {
namespace {

// Weights of R, G and B in luma (BT.709), and the spans of limited range.
constexpr float kRed = 0.2126F, kGreen = 0.7152F, kBlue = 0.0722F;
constexpr float kLumaSpan = 219, kChromaSpan = 224;

constexpr std::int64_t kRowsAPart = 16;  // fewer are not worth a thread

struct Rgb {
  float r = 0, g = 0, b = 0;  // in [0, 1]
};

// [-1, 1] to [0, 1]. Every comparison with NaN is false, so that NaN becomes 0.
float to_unit(float value) {
  const float bounded = value > -1 ? (value < 1 ? value : 1) : -1;
  return (bounded + 1) * 0.5F;
}

std::uint8_t round_to_byte(float value) {
  return static_cast<std::uint8_t>(value + 0.5F);
}

float luma(const Rgb& p) {
  return kRed * p.r + kGreen * p.g + kBlue * p.b;
}

// The pixel at (y, x), or the nearest one inside the frame.
Rgb pixel(const RgbFrame& frame, std::int64_t y, std::int64_t x) {
  y = std::clamp<std::int64_t>(y, 0, frame.height - 1);
  x = std::clamp<std::int64_t>(x, 0, frame.width - 1);
  const float* p = frame.data + (y * frame.width + x) * 3;
  return {to_unit(p[0]), to_unit(p[1]), to_unit(p[2])};
}

void luma_row(const RgbFrame& frame, std::int64_t y, const Yuv420Picture& target) {
  std::uint8_t* row = target.y.data + y * target.y.stride;
  for (std::int64_t x = 0; x < target.width; ++x) {
    row[x] = round_to_byte(16 + kLumaSpan * luma(pixel(frame, y, x)));
  }
}

// A chroma sample lies on luma column 2x and between luma rows 2y and 2y+1: weights 1 2 1 across,
// 1 1 down.
void chroma_row(const RgbFrame& frame, std::int64_t y, const Yuv420Picture& target) {
  for (std::int64_t x = 0; x < (target.width + 1) / 2; ++x) {
    Rgb mean;
    for (std::int64_t dy = 0; dy <= 1; ++dy) {
      for (std::int64_t dx = -1; dx <= 1; ++dx) {
        const Rgb p = pixel(frame, 2 * y + dy, 2 * x + dx);
        const float weight = dx == 0 ? 0.25F : 0.125F;
        mean.r += weight * p.r;
        mean.g += weight * p.g;
        mean.b += weight * p.b;
      }
    }
    const float mean_luma = luma(mean);
    const float cb = (mean.b - mean_luma) / (2 * (1 - kBlue));
    const float cr = (mean.r - mean_luma) / (2 * (1 - kRed));
    target.cb.data[y * target.cb.stride + x] = round_to_byte(128 + kChromaSpan * cb);
    target.cr.data[y * target.cr.stride + x] = round_to_byte(128 + kChromaSpan * cr);
  }
}

}  // namespace

void rgb_to_yuv420(const RgbFrame& frame, const Yuv420Picture& target) {
  const std::int64_t row_pairs = (target.height + 1) / 2;
  parallel_for(row_pairs, kRowsAPart / 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) {
      luma_row(frame, 2 * y, target);
      if (2 * y + 1 < target.height) luma_row(frame, 2 * y + 1, target);
      chroma_row(frame, y, target);
    }
  });
}

void rgb_to_rgb24(const RgbFrame& frame, const Plane& target) {
  const std::int64_t row_values = frame.width * 3;
  parallel_for(frame.height, kRowsAPart, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) {
      const float* source = frame.data + y * row_values;
      std::uint8_t* row = target.data + y * target.stride;
      for (std::int64_t i = 0; i < row_values; ++i) {
        row[i] = round_to_byte(255 * to_unit(source[i]));
      }
    }
  });
}

}  // namespace pantograph
