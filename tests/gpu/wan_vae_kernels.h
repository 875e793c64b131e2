// What the tests of the VAE's pointwise kernels share: cases, arrays and what to expect of them.
#pragma once

#include <cmath>
#include <iterator>
#include <limits>

#include "gpu.h"

namespace pantograph::test {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

inline void run(cudaError_t launched) {
  device::check(launched);
  device::synchronize(nullptr);
}

// Calls expect(case, dtype) for each case in both types of activations.
template <typename Cases, typename Expect>
void for_each_case(const Cases& cases, const Expect& expect) {
  for (const auto& c : cases) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(testing::Message()
                   << "case " << &c - std::data(cases) << " in " << to_string(dtype));
      expect(c, dtype);
    }
  }
}

// Multiples of 1/64 below 4: all types hold them, and f32 their products and sums of a few.
inline std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const Random random(seed, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>(random.bits(i) % 511) - 255) / 64;
  }
  return values;
}

// [frames, height, width, channels]
struct Shape {
  std::int64_t frames, height, width, channels;
  [[nodiscard]] std::int64_t elements() const { return frames * height * width * channels; }
  [[nodiscard]] std::size_t at(std::int64_t frame, std::int64_t row, std::int64_t column,
                               std::int64_t c) const {
    return static_cast<std::size_t>(((frame * height + row) * width + column) * channels + c);
  }
};

// Calls visit(frame, row, column, channel) for each element.
template <typename Visit>
void for_each_element(const Shape& shape, const Visit& visit) {
  for (std::int64_t frame = 0; frame < shape.frames; ++frame) {
    for (std::int64_t row = 0; row < shape.height; ++row) {
      for (std::int64_t column = 0; column < shape.width; ++column) {
        for (std::int64_t c = 0; c < shape.channels; ++c) visit(frame, row, column, c);
      }
    }
  }
}

// value(frame, row, column, channel) of each.
template <typename Value>
std::vector<double> elements(const Shape& shape, const Value& value) {
  std::vector<double> values;
  for_each_element(shape, [&](auto... at) { values.push_back(value(at...)); });
  return values;
}

// Each number found is `expected` within its own tolerance. NaN stands for itself, and for what is
// not to be written.
inline void expect_near(const GuardedArray& found, DType dtype, const std::vector<double>& expected,
                        const std::vector<double>& tolerance) {
  EXPECT_TRUE(found.guards_are_whole());
  const std::vector<float> values = found.values(dtype);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(values[i])) << "element " << i << " is " << values[i];
    } else {
      ASSERT_NEAR(values[i], expected[i], tolerance[i]) << "element " << i;
    }
  }
}

// Of what f32 computes exactly, which leaves one rounding.
inline void expect_rounded(const GuardedArray& found, DType dtype, std::vector<double> exact) {
  for (double& value : exact) value = rounded(value, dtype);
  expect_near(found, dtype, exact, std::vector<double>(exact.size()));
}

}  // namespace pantograph::test
