// The transforms around a Winograd convolution's products, each against the matrices it applies, in
// doubles.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "geometry/winograd.h"
#include "hopper.h"
#include "kernels/winograd/winograd.h"
#include "support/winograd.h"

namespace pantograph::kernels {
namespace {

using geometry::WinogradTiles;
using test::GuardedArray;
using test::Square;

// bf16 keeps 8 bits, f16 11.
constexpr double kHalfUlpOfBF16 = 0x1p-8 * 1.001, kHalfUlpOfF16 = 0x1p-11 * 1.001;
// What a few dozen steps in f32 may lose, of the sum of what they add.
constexpr double kOfF32 = 0x1p-18;

struct Case {
  std::int64_t tile_size, frames, height, width, channels;
  std::int64_t rows_of_part = 1000;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << "F(" << c.tile_size << ", 3), " << c.frames << " x " << c.height << " x " << c.width
       << " x " << c.channels << ", parts of " << c.rows_of_part;
}

std::vector<WinogradTiles> parts_of(const Case& c) {
  std::vector<WinogradTiles> parts;
  WinogradTiles tiles{.size = c.tile_size, .height = c.height, .width = c.width};
  for (; tiles.first_row < tiles.rows_of_frame(); tiles.first_row += tiles.rows) {
    tiles.rows = std::min(c.rows_of_part, tiles.rows_of_frame() - tiles.first_row);
    parts.push_back(tiles);
  }
  return parts;
}

// [frames, height, width, channels]
std::size_t pixel_index(const Case& c, std::int64_t frame, std::int64_t y, std::int64_t x,
                        std::int64_t channel) {
  return static_cast<std::size_t>(((frame * c.height + y) * c.width + x) * c.channels + channel);
}

std::int64_t pixel_elements(const Case& c) {
  return c.frames * c.height * c.width * c.channels;
}

class WinogradKernels : public test::OnHopper, public testing::WithParamInterface<Case> {};

template <std::size_t kInputs, typename Transforms>
void expect_input(const Case& c, const WinogradTiles& tiles, const Transforms& transforms,
                  const std::vector<float>& x, const std::vector<float>& v) {
  const auto matrix = test::to_doubles(transforms.input);
  const auto step = static_cast<std::size_t>(c.frames * tiles.per_frame() * c.channels);
  ASSERT_EQ(v.size(), step * kInputs * kInputs);
  for (std::size_t i = 0; i < step; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t channel = at % c.channels, row = at / c.channels;
    const std::int64_t tile = row % tiles.per_frame(), frame = row / tiles.per_frame();
    Square<kInputs> pixels{};
    for (std::int64_t k = 0; k < std::int64_t{kInputs * kInputs}; ++k) {
      const std::int64_t line = k / kInputs, column = k % kInputs;
      const std::int64_t py = tiles.top(tile) + line - 1, px = tiles.left(tile) + column - 1;
      if (py < 0 || py >= c.height || px < 0 || px >= c.width) continue;
      pixels[static_cast<std::size_t>(line)][static_cast<std::size_t>(column)] =
          x[pixel_index(c, frame, py, px, channel)];
    }
    const Square<kInputs> expected = test::transform(matrix, pixels);
    for (std::size_t k = 0; k < kInputs * kInputs; ++k) {
      ASSERT_EQ(v[k * step + i], test::rounded(expected[k / kInputs][k % kInputs], DType::kF16))
          << "component " << k << ", row " << row << ", channel " << channel;
    }
  }
}

// Whole numbers up to 3: the coefficients are fractions of a power of two, so f32 is exact.
TEST_P(WinogradKernels, InputIsTheRoundedTransform) {
  const Case& c = GetParam();
  const std::vector<float> x = test::whole_numbers(pixel_elements(c), 1);
  const GuardedArray x_on_gpu(x, DType::kBF16);
  for (const WinogradTiles& tiles : parts_of(c)) {
    const GuardedArray v(tiles.components() * c.frames * tiles.per_frame() * c.channels);
    device::check(winograd_input({.tiles = tiles,
                                  .frames = c.frames,
                                  .channels = c.channels,
                                  .x = x_on_gpu.data(),
                                  .v = v.data()},
                                 nullptr));
    device::synchronize(nullptr);
    geometry::with_winograd(c.tile_size, [&](const auto& transforms) {
      expect_input<std::decay_t<decltype(transforms)>::kInputs>(c, tiles, transforms, x,
                                                                v.values(DType::kF16));
    });
    EXPECT_TRUE(v.guards_are_whole());
  }
}

// y before it is rounded, and the sum of the sizes of what it adds.
struct Expected {
  std::vector<double> y, magnitude;
};

template <std::size_t kSize>
void add_inverse(const Case& c, const WinogradTiles& tiles,
                 const geometry::Winograd<kSize, 3>& transforms, const std::vector<float>& m,
                 Expected& expected) {
  constexpr std::size_t kInputs = kSize + 2;
  const auto matrix = test::to_doubles(transforms.output);
  const std::int64_t rows = c.frames * tiles.per_frame();
  const auto step = static_cast<std::size_t>(rows * c.channels);
  for (std::size_t i = 0; i < step; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t channel = at % c.channels, row = at / c.channels;
    const std::int64_t tile = row % tiles.per_frame(), frame = row / tiles.per_frame();
    Square<kInputs> products{};
    for (std::size_t k = 0; k < kInputs * kInputs; ++k) {
      products[k / kInputs][k % kInputs] = m[k * step + i];
    }
    const Square<kSize> y = test::transform(matrix, products);
    const Square<kSize> sizes = test::transform(test::absolute(matrix), test::absolute(products));
    for (std::size_t k = 0; k < kSize * kSize; ++k) {
      const std::int64_t py = tiles.top(tile) + static_cast<std::int64_t>(k / kSize);
      const std::int64_t px = tiles.left(tile) + static_cast<std::int64_t>(k % kSize);
      if (py >= c.height || px >= c.width) continue;
      const std::size_t pixel = pixel_index(c, frame, py, px, channel);
      expected.y[pixel] += y[k / kSize][k % kSize];
      expected.magnitude[pixel] += sizes[k / kSize][k % kSize];
    }
  }
}

// An inverse transform of random products, with what it needs and what should come of it.
class Output {
 public:
  explicit Output(const Case& c)
      : c_(c),
        bias_(test::normal_numbers(c.channels, 1, DType::kF32)),
        gamma_(test::normal_numbers(c.channels, 2, DType::kF32)),
        residual_(test::normal_numbers(pixel_elements(c), 3, DType::kBF16)),
        bias_on_gpu_(test::floats_on_gpu(bias_)),
        gamma_on_gpu_(test::floats_on_gpu(gamma_)) {
    for (const WinogradTiles& tiles : parts_of(c)) {
      const std::int64_t elements = tiles.components() * c.frames * tiles.per_frame() * c.channels;
      parts_.push_back({tiles, test::normal_numbers(elements, 4 + parts_.size(), DType::kF16)});
    }
  }

  [[nodiscard]] const std::vector<float>& residual() const { return residual_; }

  struct Target {
    const GuardedArray* residual = nullptr;
    const GuardedArray* y = nullptr;
    const GuardedArray* normed = nullptr;  // with room for the history in front
    const GuardedArray* history = nullptr;
    std::int64_t history_frames = 0;
  };
  void run(const Target& to) const {
    const auto pointer = [](const GuardedArray* array) {
      return array == nullptr ? nullptr : array->data();
    };
    const std::int64_t room = to.history_frames * c_.height * c_.width * c_.channels * 2;
    for (const Part& part : parts_) {
      const GuardedArray m(part.m, DType::kF16);
      device::check(winograd_output(
          {.tiles = part.tiles,
           .frames = c_.frames,
           .channels = c_.channels,
           .m = m.data(),
           .bias = test::as_floats(bias_on_gpu_),
           .residual = pointer(to.residual),
           .y = pointer(to.y),
           .norm = {.gamma = to.normed == nullptr ? nullptr : test::as_floats(gamma_on_gpu_),
                    .y = to.normed == nullptr ? nullptr : to.normed->data() + room,
                    .history = pointer(to.history),
                    .history_frames = to.history_frames}},
          nullptr));
      device::synchronize(nullptr);
    }
  }

  void expect_y(const std::vector<float>& found, bool with_residual) const {
    Expected expected{std::vector<double>(found.size()), std::vector<double>(found.size())};
    for (const Part& part : parts_) {
      geometry::with_winograd(c_.tile_size, [&](const auto& transforms) {
        add_inverse(c_, part.tiles, transforms, part.m, expected);
      });
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double y = expected.y[i] + bias_[i % bias_.size()] + (with_residual ? residual_[i] : 0);
      const double tolerance = kHalfUlpOfBF16 * std::abs(y) + kOfF32 * expected.magnitude[i];
      ASSERT_NEAR(found[i], y, tolerance) << "element " << i;
    }
  }

  // silu(y / |y| * sqrt(channels) * gamma) of y as it was found.
  void expect_normed(const std::vector<float>& found, const std::vector<float>& y) const {
    ASSERT_EQ(found.size(), y.size());
    for (std::size_t pixel = 0; pixel < y.size(); pixel += gamma_.size()) {
      double squares = 0;
      for (std::size_t i = 0; i < gamma_.size(); ++i) squares += std::pow(y[pixel + i], 2);
      const double factor =
          std::sqrt(static_cast<double>(gamma_.size())) / std::max(std::sqrt(squares), 1e-12);
      for (std::size_t i = 0; i < gamma_.size(); ++i) {
        const double value = y[pixel + i] * factor * gamma_[i];
        const double expected = value / (1 + std::exp(-value));
        ASSERT_NEAR(found[pixel + i], expected, (kHalfUlpOfBF16 + 1e-5) * std::abs(expected) + 1e-9)
            << "pixel " << pixel / gamma_.size() << ", channel " << i;
      }
    }
  }

 private:
  struct Part {
    WinogradTiles tiles;
    std::vector<float> m;
  };
  Case c_;
  std::vector<float> bias_, gamma_, residual_;
  device::Memory bias_on_gpu_, gamma_on_gpu_;
  std::vector<Part> parts_;
};

TEST_P(WinogradKernels, OutputIsTheRoundedInverseWithBias) {
  const Output output(GetParam());
  const GuardedArray y(pixel_elements(GetParam()));
  output.run({.y = &y});
  output.expect_y(y.values(DType::kBF16), false);
  EXPECT_TRUE(y.guards_are_whole());
}

TEST_P(WinogradKernels, OutputAddsTheResidualBesideOrInPlace) {
  const Output output(GetParam());
  const GuardedArray residual(output.residual(), DType::kBF16);
  const GuardedArray beside(pixel_elements(GetParam()));
  output.run({.residual = &residual, .y = &beside});
  const std::vector<float> y = beside.values(DType::kBF16);
  output.expect_y(y, true);
  EXPECT_EQ(residual.values(DType::kBF16), output.residual());
  output.run({.residual = &residual, .y = &residual});
  EXPECT_EQ(residual.values(DType::kBF16), y);
  EXPECT_TRUE(beside.guards_are_whole() && residual.guards_are_whole());
}

TEST_P(WinogradKernels, OutputNormsWhatItRounded) {
  const Output output(GetParam());
  const std::int64_t elements = pixel_elements(GetParam());
  for (const bool with_residual : {false, true}) {
    const GuardedArray residual(output.residual(), DType::kBF16);
    const GuardedArray y(elements), normed(elements), alone(elements);
    output.run({.residual = with_residual ? &residual : nullptr, .y = &y, .normed = &normed});
    const std::vector<float> found = y.values(DType::kBF16);
    output.expect_y(found, with_residual);
    output.expect_normed(normed.values(DType::kBF16), found);
    // y need not be written, and may take the residual's place.
    output.run({.residual = with_residual ? &residual : nullptr, .normed = &alone});
    EXPECT_EQ(alone.values(DType::kBF16), normed.values(DType::kBF16));
    if (with_residual) {
      const GuardedArray again(elements);
      output.run({.residual = &residual, .y = &residual, .normed = &again});
      EXPECT_EQ(again.values(DType::kBF16), normed.values(DType::kBF16));
      EXPECT_EQ(residual.values(DType::kBF16), found);
    }
    EXPECT_TRUE(y.guards_are_whole() && normed.guards_are_whole() && alone.guards_are_whole() &&
                residual.guards_are_whole());
  }
}

// Two frames of history go in front of the norm, and the last two of all become the history.
TEST_P(WinogradKernels, OutputLeadsWithTheHistoryAndKeepsTheLastFrames) {
  const Case& c = GetParam();
  constexpr std::int64_t kHistory = 2;
  const Output output(c);
  const GuardedArray residual(output.residual(), DType::kBF16);
  const GuardedArray alone(pixel_elements(c));
  output.run({.residual = &residual, .normed = &alone});
  const std::int64_t frame = c.height * c.width * c.channels;
  std::vector<float> expected = test::normal_numbers(kHistory * frame, 9, DType::kBF16);
  const GuardedArray normed(pixel_elements(c) + kHistory * frame);
  const GuardedArray history(expected, DType::kBF16);
  output.run(
      {.residual = &residual, .normed = &normed, .history = &history, .history_frames = kHistory});
  const std::vector<float> frames = alone.values(DType::kBF16);
  expected.insert(expected.end(), frames.begin(), frames.end());
  EXPECT_EQ(normed.values(DType::kBF16), expected);
  EXPECT_EQ(history.values(DType::kBF16),
            std::vector<float>(expected.end() - kHistory * frame, expected.end()));
  EXPECT_TRUE(history.guards_are_whole() && normed.guards_are_whole());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, WinogradKernels,
    testing::Values(Case{6, 1, 1, 1, 256}, Case{4, 1, 1, 1, 1024}, Case{2, 1, 1, 1, 256},
                    Case{6, 1, 6, 6, 512}, Case{4, 1, 4, 4, 512}, Case{2, 1, 2, 2, 512},
                    Case{6, 2, 7, 13, 256}, Case{4, 2, 7, 13, 256}, Case{6, 3, 11, 5, 512},
                    Case{4, 3, 11, 5, 1024}, Case{6, 1, 7, 13, 1024}, Case{6, 3, 11, 5, 1024},
                    Case{6, 2, 5, 31, 256, 1}, Case{6, 3, 25, 9, 256, 2}, Case{4, 3, 18, 9, 512, 2},
                    Case{2, 2, 7, 13, 256}, Case{2, 3, 11, 5, 1024}, Case{2, 3, 9, 8, 512, 2},
                    // More tiles than blocks of a GPU.
                    Case{6, 3, 60, 78, 256}, Case{4, 2, 44, 78, 256, 4},
                    Case{2, 2, 44, 78, 256, 8}));

class WinogradWeightsOnGpu : public test::OnHopper,
                             public testing::WithParamInterface<std::tuple<std::int64_t, DType>> {};

TEST_P(WinogradWeightsOnGpu, AreTheRoundedTransform) {
  constexpr std::int64_t kOut = 5, kIn = 67, kTaps = 3, kFilters = kOut * kTaps * kIn;
  const auto [tile_size, dtype] = GetParam();
  const std::vector<float> w = test::normal_numbers(kFilters * 9, 1, dtype, 0.02);
  std::vector<std::byte> stored(w.size() * size_of(dtype));
  convert_from_f32(w.data(), dtype, stored.data(), std::ssize(w));
  const device::Memory w_on_gpu(test::kGpu, stored.size());
  device::copy(w_on_gpu.data(), stored.data(), stored.size(), nullptr);
  geometry::with_winograd(tile_size, [&](const auto& transforms) {
    constexpr std::size_t kInputs = std::decay_t<decltype(transforms)>::kInputs;
    const GuardedArray u_on_gpu(std::int64_t{kInputs * kInputs} * kFilters);
    device::check(winograd_weights({.tile_size = tile_size,
                                    .out_channels = kOut,
                                    .in_channels = kIn,
                                    .taps = kTaps,
                                    .dtype = dtype,
                                    .w = w_on_gpu.data(),
                                    .u = u_on_gpu.data()},
                                   nullptr));
    device::synchronize(nullptr);
    const std::vector<float> u = u_on_gpu.values(DType::kF16);
    const auto matrix = test::to_doubles(transforms.weight);
    for (std::int64_t i = 0; i < kFilters; ++i) {  // [out][taps][in]
      const std::int64_t in = i % kIn, tap = i / kIn % kTaps, out = i / kIn / kTaps;
      Square<3> filter{};
      for (std::size_t k = 0; k < 9; ++k) {
        filter[k / 3][k % 3] =
            w[static_cast<std::size_t>(((out * kIn + in) * kTaps + tap) * 9) + k];
      }
      const Square<kInputs> expected = test::transform(matrix, filter);
      const Square<kInputs> sizes = test::transform(test::absolute(matrix), test::absolute(filter));
      for (std::size_t k = 0; k < kInputs * kInputs; ++k) {
        const double value = expected[k / kInputs][k % kInputs];
        // f16's subnormals are 2^-24 apart.
        ASSERT_NEAR(
            u[k * std::size_t{kFilters} + static_cast<std::size_t>(i)], value,
            kHalfUlpOfF16 * std::abs(value) + 0x1p-25 + kOfF32 * sizes[k / kInputs][k % kInputs])
            << "component " << k << ", filter " << i;
      }
    }
    EXPECT_TRUE(u_on_gpu.guards_are_whole());
  });
}

INSTANTIATE_TEST_SUITE_P(Tiles, WinogradWeightsOnGpu,
                         testing::Combine(testing::Values(2, 4, 6),
                                          testing::Values(DType::kF32, DType::kBF16, DType::kF16)));

}  // namespace
}  // namespace pantograph::kernels
