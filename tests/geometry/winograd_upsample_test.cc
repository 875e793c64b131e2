// The upsampler's way in two dimensions, tile by tile with its halo, against its definition.
#include "geometry/winograd_upsample.h"

#include <gtest/gtest.h>

#include <vector>

#include "geometry/winograd_tiles.h"

namespace pantograph::geometry {
namespace {

constexpr WinogradUpsample kWay = kWinogradUpsample;

struct Image {
  std::int64_t height, width;
  std::vector<Rational> pixels;

  Image(std::int64_t h, std::int64_t w) : height(h), width(w) {
    pixels.resize(static_cast<std::size_t>(h * w));
  }
  Rational& at(std::int64_t y, std::int64_t x) {
    return pixels[static_cast<std::size_t>(y * width + x)];
  }
  [[nodiscard]] bool holds(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width;
  }
  [[nodiscard]] Rational or_zero(std::int64_t y, std::int64_t x) const {
    return holds(y, x) ? pixels[static_cast<std::size_t>(y * width + x)] : Rational(0);
  }
};

using Filter = std::array<std::array<Rational, 3>, 3>;

Image by_definition(const Image& x, const Filter& w) {
  Image large(2 * x.height, 2 * x.width), y = large;
  for (std::int64_t i = 0; i < large.height; ++i) {
    for (std::int64_t j = 0; j < large.width; ++j) large.at(i, j) = x.or_zero(i / 2, j / 2);
  }
  for (std::int64_t i = 0; i < y.height; ++i) {
    for (std::int64_t j = 0; j < y.width; ++j) {
      for (int tap = 0; tap < 9; ++tap) {
        y.at(i, j) =
            y.at(i, j) + w[static_cast<std::size_t>(tap / 3)][static_cast<std::size_t>(tap % 3)] *
                             large.or_zero(i + tap / 3 - 1, j + tap % 3 - 1);
      }
    }
  }
  return y;
}

// left * m * right transposed.
template <std::size_t kRows, std::size_t kInner>
RationalMatrix<kRows, kRows> on_both_sides(const RationalMatrix<kRows, kInner>& matrix,
                                           const RationalMatrix<kInner, kInner>& m) {
  RationalMatrix<kRows, kInner> half{};
  RationalMatrix<kRows, kRows> result{};
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kInner; ++j) {
      for (std::size_t k = 0; k < kInner; ++k) half[i][j] = half[i][j] + matrix[i][k] * m[k][j];
    }
    for (std::size_t j = 0; j < kRows; ++j) {
      for (std::size_t k = 0; k < kInner; ++k) {
        result[i][j] = result[i][j] + half[i][k] * matrix[j][k];
      }
    }
  }
  return result;
}

Image by_tiles(const Image& x, const Filter& w) {
  const WinogradTiles tiles{
      .size = 2, .height = x.height, .width = x.width, .rows = (x.height + 1) / 2};
  EXPECT_EQ(tiles.components(), 16);
  const auto weights = on_both_sides(kWay.weight, w);
  Image y(2 * x.height, 2 * x.width);
  for (std::int64_t tile = 0; tile < tiles.per_frame(); ++tile) {
    RationalMatrix<4, 4> values{};
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        values[i][j] = x.or_zero(tiles.top(tile) + static_cast<std::int64_t>(i) - 1,
                                 tiles.left(tile) + static_cast<std::int64_t>(j) - 1);
      }
    }
    const auto inputs = on_both_sides(kWay.input, values);
    RationalMatrix<5, 5> products{};
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        products[i][j] = weights[i][j] * inputs[kWay.input_of[i]][kWay.input_of[j]];
      }
    }
    const auto outputs = on_both_sides(kWay.output, products);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        const std::int64_t row = 2 * tiles.top(tile) + static_cast<std::int64_t>(i);
        const std::int64_t column = 2 * tiles.left(tile) + static_cast<std::int64_t>(j);
        if (y.holds(row, column)) y.at(row, column) = outputs[i][j];
      }
    }
  }
  return y;
}

TEST(WinogradUpsample, IsTheDefinitionAtBordersToo) {
  Filter w;
  for (std::size_t tap = 0; tap < 9; ++tap) {
    w[tap / 3][tap % 3] = Rational(static_cast<std::int64_t>(tap * tap % 7) - 3);
  }
  for (const auto& [height, width] : {std::pair{1, 1}, {2, 2}, {3, 5}, {4, 1}, {7, 4}}) {
    Image x(height, width);
    for (std::size_t i = 0; i < x.pixels.size(); ++i) {
      x.pixels[i] = Rational(static_cast<std::int64_t>(i * i * 5 % 11) - 4);
    }
    EXPECT_EQ(by_tiles(x, w).pixels, by_definition(x, w).pixels) << height << " x " << width;
  }
}

}  // namespace
}  // namespace pantograph::geometry
