// The whole convolution by Winograd's way in plain doubles, as the kernels go about it: transformed
// tiles as rows, one product over shifted rows for each component, the inverse transform. Against
// the correlation itself.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"
#include "geometry/winograd.h"
#include "geometry/winograd_tiles.h"
#include "support/winograd.h"

namespace pantograph::geometry {
namespace {

using test::Square;
using test::to_doubles;
using test::transform;

struct Sizes {
  std::int64_t frames, taps, height, width, in, out;
};

std::vector<double> random_values(std::int64_t count, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(count));
  const Random random(seed, 0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.normal(i);
  return values;
}

class Convolution {
 public:
  explicit Convolution(const Sizes& sizes)
      : s_(sizes),
        x_(random_values((s_.frames + s_.taps - 1) * s_.height * s_.width * s_.in, 1)),
        w_(random_values(s_.out * s_.in * s_.taps * 9, 2)) {}

  // Of the sum over taps, rows, columns and channels that defines it.
  [[nodiscard]] double direct(std::int64_t t, std::int64_t y, std::int64_t x,
                              std::int64_t out) const {
    double sum = 0;
    for (std::int64_t tap = 0; tap < s_.taps; ++tap) {
      for (std::int64_t k = 0; k < 9; ++k) {
        for (std::int64_t c = 0; c < s_.in; ++c) {
          sum +=
              weight(out, c, tap, k / 3, k % 3) * input(t + tap, y + k / 3 - 1, x + k % 3 - 1, c);
        }
      }
    }
    return sum;
  }

  // The rows of tiles that are meant, of y [frames, height, width, out].
  template <std::size_t kSize>
  void convolve(const Winograd<kSize, 3>& winograd, const WinogradTiles& tiles,
                std::vector<double>& y) const {
    constexpr std::size_t kInputs = kSize + 2;
    const std::int64_t per_frame = tiles.per_frame(), components = tiles.components();
    const std::int64_t in_rows = (s_.frames + s_.taps - 1) * per_frame;
    const std::int64_t rows = s_.frames * per_frame;
    // [components][frames + taps - 1][tiles][in] and [components][out][taps][in]
    std::vector<double> v(static_cast<std::size_t>(components * in_rows * s_.in));
    std::vector<double> u(static_cast<std::size_t>(components * s_.out * s_.taps * s_.in));
    for (std::int64_t row = 0; row < in_rows; ++row) {
      for (std::int64_t c = 0; c < s_.in; ++c) {
        Square<kInputs> tile{};
        for (std::size_t i = 0; i < kInputs; ++i) {
          for (std::size_t j = 0; j < kInputs; ++j) {
            tile[i][j] = input(row / per_frame, tiles.top(row % per_frame) + std::int64_t(i) - 1,
                               tiles.left(row % per_frame) + std::int64_t(j) - 1, c);
          }
        }
        scatter(transform(to_doubles(winograd.input), tile), v, row * s_.in + c, in_rows * s_.in);
      }
    }
    for (std::int64_t i = 0; i < s_.out * s_.taps * s_.in; ++i) {
      const std::int64_t c = i % s_.in, tap = i / s_.in % s_.taps, out = i / s_.in / s_.taps;
      Square<3> filter{};
      for (std::size_t k = 0; k < 9; ++k) {
        filter[k / 3][k % 3] = weight(out, c, tap, std::int64_t(k / 3), std::int64_t(k % 3));
      }
      scatter(transform(to_doubles(winograd.weight), filter), u, i, s_.out * s_.taps * s_.in);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t out = 0; out < s_.out; ++out) {
        Square<kInputs> products{};
        for (std::int64_t g = 0; g < components; ++g) {
          double& sum = products[static_cast<std::size_t>(g) / kInputs]
                                [static_cast<std::size_t>(g) % kInputs];
          for (std::int64_t tap = 0; tap < s_.taps; ++tap) {
            for (std::int64_t c = 0; c < s_.in; ++c) {
              const std::int64_t a = (g * in_rows + row + tap * per_frame) * s_.in + c;
              const std::int64_t b = ((g * s_.out + out) * s_.taps + tap) * s_.in + c;
              sum += v[static_cast<std::size_t>(a)] * u[static_cast<std::size_t>(b)];
            }
          }
        }
        store(transform(to_doubles(winograd.output), products), tiles, row, out, y);
      }
    }
  }

 private:
  template <std::size_t kInputs>
  static void scatter(const Square<kInputs>& square, std::vector<double>& to, std::int64_t at,
                      std::int64_t step) {
    for (const auto& line : square) {
      for (const double value : line) {
        to[static_cast<std::size_t>(at)] = value;
        at += step;
      }
    }
  }

  template <std::size_t kSize>
  void store(const Square<kSize>& pixels, const WinogradTiles& tiles, std::int64_t row,
             std::int64_t out, std::vector<double>& y) const {
    const std::int64_t tile = row % tiles.per_frame(), t = row / tiles.per_frame();
    const std::int64_t bottom = std::min(tiles.top(tile) + tiles.size, s_.height);
    const std::int64_t right = std::min(tiles.left(tile) + tiles.size, s_.width);
    for (std::int64_t i = tiles.top(tile); i < bottom; ++i) {
      for (std::int64_t j = tiles.left(tile); j < right; ++j) {
        y[static_cast<std::size_t>(((t * s_.height + i) * s_.width + j) * s_.out + out)] =
            pixels[static_cast<std::size_t>(i - tiles.top(tile))]
                  [static_cast<std::size_t>(j - tiles.left(tile))];
      }
    }
  }

  [[nodiscard]] double input(std::int64_t t, std::int64_t y, std::int64_t x, std::int64_t c) const {
    if (y < 0 || y >= s_.height || x < 0 || x >= s_.width) return 0;
    return x_[static_cast<std::size_t>(((t * s_.height + y) * s_.width + x) * s_.in + c)];
  }
  [[nodiscard]] double weight(std::int64_t out, std::int64_t c, std::int64_t tap, std::int64_t i,
                              std::int64_t j) const {
    return w_[static_cast<std::size_t>((((out * s_.in + c) * s_.taps + tap) * 3 + i) * 3 + j)];
  }

  Sizes s_;
  std::vector<double> x_, w_;  // [frames + taps - 1, height, width, in], [out, in, taps, 3, 3]
};

template <std::size_t kSize>
void expect_convolution(const Winograd<kSize, 3>& winograd, const Sizes& s) {
  const Convolution convolution(s);
  std::vector<double> y(static_cast<std::size_t>(s.frames * s.height * s.width * s.out), NAN);
  WinogradTiles tiles{.size = kSize, .height = s.height, .width = s.width};
  for (; tiles.first_row < tiles.rows_of_frame(); tiles.first_row += tiles.rows) {
    tiles.rows = std::min<std::int64_t>(2, tiles.rows_of_frame() - tiles.first_row);
    convolution.convolve(winograd, tiles, y);
  }
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    const std::int64_t pixel = i / s.out;
    const double expected = convolution.direct(
        pixel / s.width / s.height, pixel / s.width % s.height, pixel % s.width, i % s.out);
    // Sums of products of up to 32^2 times what comes out, in doubles.
    ASSERT_NEAR(y[static_cast<std::size_t>(i)], expected, 1e-10) << "element " << i;
  }
}

TEST(WinogradConvolution, IsTheCorrelationInSpaceAndTime) {
  for (const Sizes& sizes :
       {Sizes{1, 1, 1, 1, 1, 1}, Sizes{2, 3, 7, 5, 3, 2}, Sizes{3, 3, 12, 8, 2, 3},
        Sizes{1, 3, 13, 20, 2, 1}, Sizes{4, 1, 6, 4, 1, 2}, Sizes{2, 2, 25, 3, 1, 1}}) {
    for (const std::int64_t outputs : {2, 4, 6}) {
      with_winograd(outputs, [&](const auto& winograd) { expect_convolution(winograd, sizes); });
    }
  }
}

}  // namespace
}  // namespace pantograph::geometry
