#include "media/color.h"

#include <algorithm>
#include <vector>

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

// Pixels of one row, with one more before the first and one after the last, where chroma looks
// beyond the picture: row[0] is column -1.
using Row = std::vector<Rgb>;

// Row `y` of the frame, or its last one; columns beyond the frame repeat its nearest pixel.
void load_row(const RgbFrame& frame, std::int64_t y, Row& row) {
  const float* source = frame.data + std::min(y, frame.height - 1) * frame.width * 3;
  const auto pixel = [source](std::int64_t x) {
    return Rgb{to_unit(source[3 * x]), to_unit(source[3 * x + 1]), to_unit(source[3 * x + 2])};
  };
  row[0] = pixel(0);
  for (std::int64_t x = 0; x < frame.width; ++x) row[x + 1] = pixel(x);
  std::fill(row.begin() + frame.width + 1, row.end(), pixel(frame.width - 1));
}

void luma_row(const Row& row, std::int64_t width, std::uint8_t* target) {
  for (std::int64_t x = 0; x < width; ++x) {
    target[x] = round_to_byte(16 + kLumaSpan * luma(row[x + 1]));
  }
}

// A chroma sample lies on luma column 2x and between two luma rows: weights 1 2 1 across, 1 1 down.
void chroma_row(const Row& upper, const Row& lower, std::int64_t width, std::uint8_t* cb,
                std::uint8_t* cr) {
  for (std::int64_t x = 0; x < (width + 1) / 2; ++x) {
    const auto mean_of = [&, left = 2 * x](float Rgb::* c) {
      return (upper[left].*c + 2 * upper[left + 1].*c + upper[left + 2].*c + lower[left].*c +
              2 * lower[left + 1].*c + lower[left + 2].*c) /
             8;
    };
    const Rgb mean{mean_of(&Rgb::r), mean_of(&Rgb::g), mean_of(&Rgb::b)};
    const float mean_luma = luma(mean);
    cb[x] = round_to_byte(128 + kChromaSpan * (mean.b - mean_luma) / (2 * (1 - kBlue)));
    cr[x] = round_to_byte(128 + kChromaSpan * (mean.r - mean_luma) / (2 * (1 - kRed)));
  }
}

}  // namespace

void rgb_to_yuv420(const RgbFrame& frame, const Yuv420Picture& target) {
  const std::int64_t row_pairs = (target.height + 1) / 2;
  parallel_for(row_pairs, kRowsAPart / 2, [&](std::int64_t begin, std::int64_t end) {
    Row upper(static_cast<std::size_t>(target.width + 2)), lower(upper);
    for (std::int64_t y = begin; y < end; ++y) {
      load_row(frame, 2 * y, upper);
      load_row(frame, 2 * y + 1, lower);
      std::uint8_t* luma_target = target.y.data + 2 * y * target.y.stride;
      luma_row(upper, target.width, luma_target);
      if (2 * y + 1 < target.height) luma_row(lower, target.width, luma_target + target.y.stride);
      chroma_row(upper, lower, target.width, target.cb.data + y * target.cb.stride,
                 target.cr.data + y * target.cr.stride);
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

const std::uint8_t* copy_rows(const std::uint8_t* source, std::int64_t rows, std::int64_t bytes,
                              const Plane& target) {
  for (std::int64_t row = 0; row < rows; ++row, source += bytes) {
    std::copy_n(source, bytes, target.data + row * target.stride);
  }
  return source;
}

}  // namespace pantograph
