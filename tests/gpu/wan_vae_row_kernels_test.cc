// The VAE's kernels on rows of channels, each alone against its formula in launch.h, in doubles.
#include <algorithm>

#include "kernels/wan_vae/launch.h"
#include "wan_vae_kernels.h"

namespace pantograph::kernels {
namespace {

using test::GuardedArray;

// Half a unit in the last place of f32's 24 bits and bf16's 8, at most, of the number rounded.
constexpr double kOfF32 = 0x1p-24;
double half_ulp(DType dtype) {
  return dtype == DType::kBF16 ? 0x1p-8 : kOfF32;
}

class WanVaeRowKernels : public test::OnGpu {};

struct NormCase {
  std::int64_t rows, channels, history_rows = 0;
};

// The second row is shorter than the least norm, the third is zero.
std::vector<float> rows_to_norm(const NormCase& c, DType dtype) {
  std::vector<float> x = test::normal_numbers(c.rows * c.channels, 1, dtype);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / c.channels;
    if (row == 1) x[i] *= 0x1p-50F;
    if (row == 2) x[i] = 0;
  }
  return x;
}

std::vector<float> gamma_of(const NormCase& c) {
  return test::normal_numbers(c.channels, 2, DType::kF32);
}

// y, with room in front for the rows of the history.
GuardedArray norm(const NormCase& c, DType dtype, bool silu, bool in_place,
                  const GuardedArray* history = nullptr) {
  const std::vector<float> values = rows_to_norm(c, dtype);
  const GuardedArray x(values, dtype);
  const device::Memory gamma = test::floats_on_gpu(gamma_of(c));
  const std::int64_t room = c.history_rows * c.channels;
  std::vector<float> before(static_cast<std::size_t>(room) + values.size(), test::kNaN);
  if (in_place) std::copy(values.begin(), values.end(), before.begin() + room);
  GuardedArray whole(before, dtype);
  std::byte* const y = whole.data() + room * static_cast<std::int64_t>(size_of(dtype));
  test::run(rms_norm({.dtype = dtype,
                      .rows = c.rows,
                      .channels = c.channels,
                      .silu = silu,
                      .x = in_place ? y : x.data(),
                      .gamma = test::as_floats(gamma),
                      .y = y,
                      .history = history == nullptr ? nullptr : history->data(),
                      .history_rows = c.history_rows},
                     nullptr));
  return whole;
}

TEST_F(WanVaeRowKernels, NormScalesEachRow) {
  // Of 1, 2, 4 and 8 vectors for each thread of a warp in either type, and of other numbers of
  // channels; eight rows are a block's.
  constexpr NormCase kCases[] = {{1, 128}, {8, 256}, {11, 512}, {3, 1024}, {9, 2048},
                                 {5, 768}, {1, 1},   {11, 4},   {3, 33},   {4, 200}};
  test::for_each_case(kCases, [](const NormCase& c, DType dtype) {
    const std::vector<float> x = rows_to_norm(c, dtype), gamma = gamma_of(c);
    // Roundings: of a thread's sum of 1/32 of the squares and of five sums of sums, which the root
    // halves, and of squares, roots, the quotient and products.
    const double lost = (static_cast<double>(c.channels) / 64 + 3 + 8) * kOfF32;
    // SiLU makes up to 1 + |y| times as much of it. Its exponential is off by 2 ulp, which the fast
    // one exceeds by 1.2 |y|, the quotient by 2, the sum by 1/2.
    const double lost_with_silu = lost + 10 * kOfF32;
    for (const bool silu : {false, true}) {
      std::vector<double> expected, tolerance;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto row = x.begin() + static_cast<std::int64_t>(i) / c.channels * c.channels;
        double squares = 0;
        std::for_each(row, row + c.channels, [&](double v) { squares += v * v; });
        const double y = x[i] / std::max(std::sqrt(squares), 1e-12) *
                         std::sqrt(static_cast<double>(c.channels)) * gamma[i % gamma.size()];
        expected.push_back(silu ? y / (1 + std::exp(-y)) : y);
        tolerance.push_back(std::abs(expected.back()) *
                            (half_ulp(dtype) + (silu ? (1 + std::abs(y)) * lost_with_silu : lost)));
      }
      for (const bool in_place : {false, true}) {
        test::expect_near(norm(c, dtype, silu, in_place), dtype, expected, tolerance);
      }
    }
  });
}

TEST_F(WanVaeRowKernels, NormLeadsWithTheHistoryAndKeepsTheLastRows) {
  // Vectors and single channels; fewer rows of history than others, as many, and more.
  constexpr NormCase kCases[] = {{11, 256, 2}, {4, 512, 4},  {3, 2048, 7}, {2, 128, 6},
                                 {11, 33, 2},  {9, 1024, 9}, {3, 5, 7},    {1, 200, 2}};
  test::for_each_case(kCases, [](const NormCase& c, DType dtype) {
    const std::vector<float> before = test::normal_numbers(c.history_rows * c.channels, 3, dtype);
    for (const bool silu : {false, true}) {
      const std::vector<float> alone = norm({c.rows, c.channels}, dtype, silu, false).values(dtype);
      std::vector<double> expected(before.begin(), before.end());
      expected.insert(expected.end(), alone.begin(), alone.end());
      for (const bool in_place : {false, true}) {
        const GuardedArray history(before, dtype);
        test::expect_rounded(norm(c, dtype, silu, in_place, &history), dtype, expected);
        test::expect_rounded(history, dtype, {expected.end() - std::ssize(before), expected.end()});
      }
    }
  });
}

struct SoftmaxCase {
  std::int64_t rows, columns;
  float scale, mean, deviation;  // the last two of s
};

TEST_F(WanVaeRowKernels, SoftmaxDividesByTheSumOfItsRow) {
  // A thread's columns are 256 apart. Then what exp alone would make infinite, what it makes zero,
  // and differences beyond f32.
  constexpr SoftmaxCase kCases[] = {
      {3, 1, 1, 0, 1},         {5, 7, 0.5F, 0, 3},   {2, 256, 1, 0, 1},  {2, 257, 1, 0, 2},
      {3, 1000, 0.125F, 0, 8}, {2, 300, 1, 1e4F, 1}, {2, 300, 1, 0, 40}, {3, 300, 1, 0, 6e37F}};
  test::for_each_case(kCases, [](const SoftmaxCase& c, DType dtype) {
    const std::int64_t count = c.rows * c.columns;
    std::vector<float> s = test::normal_numbers(count, 1, DType::kF32, c.deviation);
    for (float& value : s) value += c.mean;
    std::vector<double> expected, tolerance;
    for (auto row = s.begin(); row != s.end(); row += c.columns) {
      const double largest = *std::max_element(row, row + c.columns);
      double sum = 0;
      std::for_each(row, row + c.columns,
                    [&](double v) { sum += std::exp((v - largest) * c.scale); });
      std::for_each(row, row + c.columns, [&](double v) {
        const double exponent = (v - largest) * c.scale;
        expected.push_back(std::exp(exponent) / sum);
        // Two roundings of the exponent and 2 ulp of exp, in the number itself and in the sum,
        // where the exponents' mean is at most log(columns); a thread's sums, ten of theirs, the
        // quotient and the product. What is less than f32's normal numbers may be lost.
        const double roundings = 2 * (std::abs(exponent) + std::log(c.columns) + 4) +
                                 static_cast<double>(c.columns) / 256 + 12;
        tolerance.push_back(expected.back() * (half_ulp(dtype) + roundings * kOfF32) + 0x1p-126);
      });
    }
    const GuardedArray scores(s, DType::kF32);
    const auto expect_in = [&](const GuardedArray& p) {
      test::run(softmax({.dtype = dtype,
                         .rows = c.rows,
                         .columns = c.columns,
                         .scale = c.scale,
                         .s = reinterpret_cast<const float*>(scores.data()),
                         .p = p.data()},
                        nullptr));
      test::expect_near(p, dtype, expected, tolerance);
    };
    expect_in(GuardedArray(count, dtype));
    if (dtype == DType::kF32) expect_in(scores);
  });
}

struct BiasCase {
  std::int64_t rows, channels, x_channels;
};

TEST_F(WanVaeRowKernels, BiasAndResidualAreAdded) {
  // Whole vectors in both types, in f32 alone, and in y or x but not in both.
  constexpr BiasCase kCases[] = {{37, 16, 16}, {300, 16, 24}, {37, 12, 16}, {5, 8, 9},
                                 {5, 3, 8},    {300, 5, 7},   {1, 1, 1}};
  test::for_each_case(kCases, [](const BiasCase& c, DType dtype) {
    std::vector<float> values = test::numbers(c.rows * c.x_channels, 1);
    const std::vector<float> bias = test::numbers(c.channels, 2);
    const std::vector<float> before = test::numbers(c.rows * c.channels, 3);
    std::vector<double> sums;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t channel = i % static_cast<std::size_t>(c.x_channels);
      if (channel < bias.size()) {
        sums.push_back(double{values[i]} + bias[channel]);
      } else {
        values[i] = test::kNaN;  // beyond the row
      }
    }
    const GuardedArray x(values, dtype);
    const device::Memory bias_on_gpu = test::floats_on_gpu(bias);
    for (const bool accumulate : {false, true}) {
      const GuardedArray y =
          accumulate ? GuardedArray(before, dtype) : GuardedArray(std::ssize(before), dtype);
      test::run(bias_residual({.dtype = dtype,
                               .rows = c.rows,
                               .channels = c.channels,
                               .x_channels = c.x_channels,
                               .accumulate = accumulate,
                               .x = x.data(),
                               .bias = test::as_floats(bias_on_gpu),
                               .y = y.data()},
                              nullptr));
      std::vector<double> expected = sums;
      for (std::size_t i = 0; accumulate && i < expected.size(); ++i) expected[i] += before[i];
      test::expect_rounded(y, dtype, expected);
    }
  });
}

TEST_F(WanVaeRowKernels, TakeNoRowsAndNoOtherType) {
  EXPECT_EQ(rms_norm({}, nullptr), cudaSuccess);
  EXPECT_EQ(softmax({}, nullptr), cudaSuccess);
  EXPECT_EQ(bias_residual({}, nullptr), cudaSuccess);
  EXPECT_EQ(rms_norm({.dtype = DType::kF16, .rows = 1}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(softmax({.dtype = DType::kF16, .rows = 1}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(bias_residual({.dtype = DType::kF16, .rows = 1}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace pantograph::kernels
