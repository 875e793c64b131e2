// Resampling in 8 bits with fixed-point weights, so that a first frame is the one Pillow would
// make.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/parallel.h"
#include "media/picture.h"

namespace pantograph {
namespace {

constexpr double kSupport = 3;  // lobes on each side
constexpr int kFraction =
    22;  // bits of a weight: 32, less 8 of the value and 2 of the sum's overshoot

double lanczos(double x) {
  if (x == 0) return 1;
  if (std::abs(x) >= kSupport) return 0;
  const double a = std::numbers::pi * x;
  return std::sin(a) / a * std::sin(a / kSupport) / (a / kSupport);
}

// The source elements that one target element is made of.
struct Window {
  std::int64_t begin = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Window> windows(std::int64_t source, std::int64_t target) {
  const double scale = static_cast<double>(source) / static_cast<double>(target);
  const double stretch = std::max(scale, 1.0);  // the window grows when a picture shrinks
  std::vector<Window> result(static_cast<std::size_t>(target));
  for (std::int64_t i = 0; i < target; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const double reach = kSupport * stretch;
    const auto begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(center - reach + 0.5));
    const auto end = std::min(source, static_cast<std::int64_t>(center + reach + 0.5));
    std::vector<double> exact;
    double sum = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      exact.push_back(lanczos((static_cast<double>(k) - center + 0.5) / stretch));
      sum += exact.back();
    }
    Window& window = result[static_cast<std::size_t>(i)];
    window.begin = begin;
    for (const double weight : exact) {
      window.weights.push_back(
          static_cast<std::int32_t>(std::lround(weight / sum * (1 << kFraction))));
    }
  }
  return result;
}

// One element: the window's source elements lie `stride` bytes apart.
std::uint8_t weighted(const Window& window, const std::uint8_t* source, std::int64_t stride) {
  std::int64_t sum = std::int64_t{1} << (kFraction - 1);
  source += window.begin * stride;
  for (const std::int32_t weight : window.weights) {
    sum += std::int64_t{*source} * weight;
    source += stride;
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kFraction, 0, 255));
}

Picture resized_width(const Picture& picture, std::int64_t width) {
  const std::vector<Window> columns = windows(picture.width, width);
  Picture result{.height = picture.height, .width = width, .rgb = {}};
  result.rgb.resize(static_cast<std::size_t>(picture.height * width * 3));
  parallel_for(picture.height, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) {
      const std::uint8_t* source = picture.rgb.data() + y * picture.width * 3;
      std::uint8_t* target = result.rgb.data() + y * width * 3;
      for (std::int64_t x = 0; x < width * 3; ++x) {
        target[x] = weighted(columns[static_cast<std::size_t>(x / 3)], source + x % 3, 3);
      }
    }
  });
  return result;
}

Picture resized_height(const Picture& picture, std::int64_t height) {
  const std::vector<Window> rows = windows(picture.height, height);
  const std::int64_t line = picture.width * 3;
  Picture result{.height = height, .width = picture.width, .rgb = {}};
  result.rgb.resize(static_cast<std::size_t>(height * line));
  parallel_for(height, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) {
      std::uint8_t* target = result.rgb.data() + y * line;
      for (std::int64_t x = 0; x < line; ++x) {
        target[x] = weighted(rows[static_cast<std::size_t>(y)], picture.rgb.data() + x, line);
      }
    }
  });
  return result;
}

}  // namespace

Picture lanczos_resized(const Picture& picture, std::int64_t height, std::int64_t width) {
  Picture result = width == picture.width ? picture : resized_width(picture, width);
  return height == picture.height ? result : resized_height(result, height);
}

}  // namespace pantograph
