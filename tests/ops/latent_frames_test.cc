#include "ops/latent_frames/latent_frames.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/convert.h"
#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::HostFrames;
using test::OpRunner;

// The value at [c, t, y, x]: exact in every dtype.
float value_at(std::int64_t c, std::int64_t t, std::int64_t y, std::int64_t x) {
  return static_cast<float>(64 * c + 16 * t + 4 * y + x) / 4;
}

constexpr std::int64_t kC = 3, kT = 2, kH = 4, kW = 3;
const std::vector<float> kScale = {2, 0.5F, -1}, kShift = {0, 1, -3};

void expect_loaded(const TensorView& latents) {
  HostFrames y(kT, kH, kW, kC);
  OpRunner().run(
      [&](const Context& context) { load_latents(context, latents, kScale, kShift, y.view); });
  for (std::int64_t t = 0; t < kT; ++t) {
    for (std::int64_t r = 0; r < kH; ++r) {
      for (std::int64_t x = 0; x < kW; ++x) {
        for (std::int64_t c = 0; c < kC; ++c) {
          const auto channel = static_cast<std::size_t>(c);
          ASSERT_EQ(y.at(t, r, x, c), value_at(c, t, r, x) * kScale[channel] + kShift[channel]);
        }
      }
    }
  }
}

TEST(LoadLatents, ReadsEveryFloatingTypeAndAnyStrides) {
  // Each order of the four axes in memory, as positions of c, t, y, x.
  for (const auto& order : std::vector<std::array<std::size_t, 4>>{
           {0, 1, 2, 3}, {3, 2, 1, 0}, {1, 2, 3, 0}, {0, 1, 3, 2}, {2, 0, 3, 1}}) {
    constexpr std::array<std::int64_t, 4> kShape = {kC, kT, kH, kW};
    std::array<std::int64_t, 4> strides{};
    std::int64_t stride = 1;
    for (std::size_t i = 4; i-- > 0;) {
      strides[order[i]] = stride;
      stride *= kShape[order[i]] + 1;  // with gaps
    }
    std::vector<float> plain(static_cast<std::size_t>(stride), test::kNan);
    for (std::int64_t c = 0; c < kC; ++c) {
      for (std::int64_t t = 0; t < kT; ++t) {
        for (std::int64_t y = 0; y < kH; ++y) {
          for (std::int64_t x = 0; x < kW; ++x) {
            plain[static_cast<std::size_t>(c * strides[0] + t * strides[1] + y * strides[2] +
                                           x * strides[3])] = value_at(c, t, y, x);
          }
        }
      }
    }
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      std::vector<std::byte> stored(plain.size() * size_of(dtype));
      convert_from_f32(plain.data(), dtype, stored.data(), static_cast<std::int64_t>(plain.size()));
      TensorView view = TensorView::dense(stored.data(), dtype, kShape);
      std::copy(strides.begin(), strides.end(), view.strides.begin());
      expect_loaded(view);
    }
  }
}

// A stride of -1 along x, the pointer at the last column.
TEST(LoadLatents, ReadsBackwards) {
  std::vector<float> values;
  for (std::int64_t c = 0; c < kC; ++c) {
    for (std::int64_t t = 0; t < kT; ++t) {
      for (std::int64_t y = 0; y < kH; ++y) {
        for (std::int64_t x = kW; x-- > 0;) values.push_back(value_at(c, t, y, x));
      }
    }
  }
  TensorView view = TensorView::dense(values.data() + kW - 1, DType::kF32, {kC, kT, kH, kW});
  view.strides[3] = -1;
  expect_loaded(view);
}

TEST(LoadLatents, AnotherShapeIsADefect) {
  std::vector<float> values(24);
  HostFrames y(1, 2, 4, 3);
  const TensorView view = TensorView::dense(values.data(), DType::kF32, {3, 2, 1, 4});
  expect_error(ErrorKind::kInternal, {"load_latents"}, [&] {
    OpRunner().run(
        [&](const Context& context) { load_latents(context, view, kScale, kShift, y.view); });
  });
}

TEST(Unpatchify, PutsEachChannelAtItsColumnAndRowOffset) {
  for (const std::int64_t patch : {1, 2, 3, 4}) {
    HostFrames x(2, 3, 2, 3 * patch * patch), pixels(2, 3 * patch, 2 * patch, 3);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      x.values[i] = static_cast<float>(i) / static_cast<float>(x.values.size());
    }
    OpRunner().run(
        [&](const Context& context) { unpatchify(context, x.view, patch, pixels.view); });
    for (std::int64_t t = 0; t < 2; ++t) {
      for (std::int64_t y = 0; y < 3; ++y) {
        for (std::int64_t column = 0; column < 2; ++column) {
          std::int64_t channel = 0;  // colour, then column offset, then row offset
          for (std::int64_t k = 0; k < 3; ++k) {
            for (std::int64_t j = 0; j < patch; ++j) {
              for (std::int64_t i = 0; i < patch; ++i, ++channel) {
                ASSERT_EQ(pixels.at(t, patch * y + i, patch * column + j, k),
                          x.at(t, y, column, channel));
              }
            }
          }
        }
      }
    }
  }
}

TEST(Unpatchify, ClampsToTheRangeOfPixels) {
  HostFrames x(1, 1, 1, 3), pixels(1, 1, 1, 3);
  x.at(0, 0, 0, 0) = -1.5F;
  x.at(0, 0, 0, 1) = INFINITY;
  x.at(0, 0, 0, 2) = 0.25F;
  OpRunner().run([&](const Context& context) { unpatchify(context, x.view, 1, pixels.view); });
  EXPECT_EQ(pixels.values, (std::vector<float>{-1, 1, 0.25F}));
}

TEST(Unpatchify, AnotherShapeIsADefect) {
  HostFrames x(1, 1, 1, 12), pixels(1, 2, 3, 3);
  expect_error(ErrorKind::kInternal, {"unpatchify"}, [&] {
    OpRunner().run([&](const Context& context) { unpatchify(context, x.view, 2, pixels.view); });
  });
}

}  // namespace
}  // namespace pantograph::ops
