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

template <typename Sample>
Sample round_to(float value) {
  return static_cast<Sample>(value + 0.5F);
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

// `scale` is 1 for 8 bits and 4 for 10.
template <typename Sample>
void luma_row(const Row& row, std::int64_t width, float scale, Sample* target) {
  for (std::int64_t x = 0; x < width; ++x) {
    target[x] = round_to<Sample>(scale * (16 + kLumaSpan * luma(row[x + 1])));
  }
}

// A chroma sample lies on luma column kStep x and between two luma rows, or on one that stands for
// both: weights 1 2 1 across where columns are halved, 1 1 down.
template <typename Sample, int kStep>
void chroma_row(const Row& upper, const Row& lower, std::int64_t width, float scale, Sample* cb,
                Sample* cr) {
  for (std::int64_t x = 0; x < (width + kStep - 1) / kStep; ++x) {
    const auto across = [at = kStep * x + 1](const Row& row, float Rgb::* c) {
      if constexpr (kStep == 1) return row[at].*c;
      return (row[at - 1].*c + 2 * row[at].*c + row[at + 1].*c) / 4;
    };
    const auto mean_of = [&](float Rgb::* c) { return (across(upper, c) + across(lower, c)) / 2; };
    const Rgb mean{mean_of(&Rgb::r), mean_of(&Rgb::g), mean_of(&Rgb::b)};
    const float mean_luma = luma(mean);
    const float blue = (mean.b - mean_luma) / (2 * (1 - kBlue));
    const float red = (mean.r - mean_luma) / (2 * (1 - kRed));
    cb[x] = round_to<Sample>(scale * (128 + kChromaSpan * blue));
    cr[x] = round_to<Sample>(scale * (128 + kChromaSpan * red));
  }
}

template <typename Sample>
Sample* row_of(const Plane& plane, std::int64_t y) {
  return reinterpret_cast<Sample*>(plane.data + y * plane.stride);
}

template <typename Sample, int kStep>
void convert(const RgbFrame& frame, const YuvPicture& target) {
  const auto scale = static_cast<float>(1 << (target.depth - 8));
  const std::int64_t rows = target.halved_down ? 2 : 1;  // of luma for one of chroma
  const std::int64_t groups = (target.height + rows - 1) / rows;
  parallel_for(groups, kRowsAPart / rows, [&](std::int64_t begin, std::int64_t end) {
    Row upper(static_cast<std::size_t>(target.width + 2)), lower(upper);
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t y = group * rows;
      load_row(frame, y, upper);
      load_row(frame, y + rows - 1, lower);
      luma_row(upper, target.width, scale, row_of<Sample>(target.y, y));
      if (rows == 2 && y + 1 < target.height) {
        luma_row(lower, target.width, scale, row_of<Sample>(target.y, y + 1));
      }
      chroma_row<Sample, kStep>(upper, lower, target.width, scale, row_of<Sample>(target.cb, group),
                                row_of<Sample>(target.cr, group));
    }
  });
}

}  // namespace

void rgb_to_yuv(const RgbFrame& frame, const YuvPicture& target) {
  if (target.depth > 8) {
    target.halved_across ? convert<std::uint16_t, 2>(frame, target)
                         : convert<std::uint16_t, 1>(frame, target);
  } else {
    target.halved_across ? convert<std::uint8_t, 2>(frame, target)
                         : convert<std::uint8_t, 1>(frame, target);
  }
}

void rgb_to_rgb24(const RgbFrame& frame, const Plane& target) {
  const std::int64_t row_values = frame.width * 3;
  parallel_for(frame.height, kRowsAPart, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) {
      const float* source = frame.data + y * row_values;
      std::uint8_t* row = target.data + y * target.stride;
      for (std::int64_t i = 0; i < row_values; ++i) {
        row[i] = round_to<std::uint8_t>(255 * to_unit(source[i]));
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
