// The product of matrices over shifted rows against the sums that define it.
#include "kernels/hopper/component_gemm.h"

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "hopper.h"

namespace pantograph::kernels {
namespace {

using test::GuardedArray;
using test::kGpu;

struct Case {
  std::vector<std::uint8_t> a_of;  // one for each component
  std::int64_t rows, in, out, taps = 1, tap_rows = 0;
  std::int64_t rows_of_a = -1;  // as many as are read
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.a_of.size() << " x " << c.rows << " x " << c.in << " -> " << c.out << ", " << c.taps
       << " taps at " << c.tap_rows;
}

std::vector<std::uint8_t> own_inputs(std::size_t components) {
  std::vector<std::uint8_t> a_of(components);
  for (std::size_t i = 0; i < components; ++i) a_of[i] = static_cast<std::uint8_t>(i);
  return a_of;
}

// Without its pointers.
ComponentGemm problem_of(const Case& c, DType dtype) {
  const std::int64_t read = c.rows + (c.taps - 1) * c.tap_rows;
  ComponentGemm p{.dtype = dtype,
                  .y_dtype = dtype,
                  .components = std::ssize(c.a_of),
                  .a_components = *std::max_element(c.a_of.begin(), c.a_of.end()) + 1,
                  .rows = c.rows,
                  .a_rows = c.rows_of_a >= 0 ? c.rows_of_a : read,
                  .in_channels = c.in,
                  .out_channels = c.out,
                  .taps = c.taps,
                  .tap_rows = c.tap_rows};
  std::copy(c.a_of.begin(), c.a_of.end(), p.a_of.begin());
  return p;
}

// Of one sum, in doubles.
double product(const ComponentGemm& p, const std::vector<float>& a, const std::vector<float>& b,
               std::int64_t component, std::int64_t row, std::int64_t out) {
  double sum = 0;
  for (std::int64_t tap = 0; tap < p.taps; ++tap) {
    const std::int64_t a_row = row + tap * p.tap_rows;
    if (a_row >= p.a_rows) break;
    const float* left =
        a.data() + (p.a_of[static_cast<std::size_t>(component)] * p.a_rows + a_row) * p.in_channels;
    const float* right =
        b.data() + ((component * p.out_channels + out) * p.taps + tap) * p.in_channels;
    for (std::int64_t c = 0; c < p.in_channels; ++c) sum += double{left[c]} * double{right[c]};
  }
  return sum;
}

void run(ComponentGemm p, const GuardedArray& a, const GuardedArray& b, const GuardedArray& y) {
  p.a = a.data(), p.b = b.data(), p.y = y.data();
  device::check(component_gemm(p, nullptr));
  device::synchronize(nullptr);
}

class ComponentGemmOnGpu : public test::OnHopper, public testing::WithParamInterface<Case> {};

TEST_P(ComponentGemmOnGpu, RoundsTheExactSums) {
  const Case& c = GetParam();
  const ComponentGemm any = problem_of(c, DType::kF16);
  const std::vector<float> a =
      test::whole_numbers(any.a_components * any.a_rows * any.in_channels, 1);
  const std::vector<float> b =
      test::whole_numbers(any.components * any.out_channels * any.taps * any.in_channels, 2);
  const std::vector<float> bias = test::whole_numbers(any.out_channels, 3);
  const device::Memory bias_on_gpu = test::floats_on_gpu(bias);
  const std::int64_t lines = any.components * any.rows;
  std::vector<double> sums(static_cast<std::size_t>(lines * any.out_channels));
  parallel_for(lines, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * c.out; i < end * c.out; ++i) {
      const std::int64_t line = i / c.out;
      sums[static_cast<std::size_t>(i)] =
          product(any, a, b, line / any.rows, line % any.rows, i % c.out);
    }
  });
  for (const auto& [dtype, y_dtype] : {std::pair{DType::kF16, DType::kF16},
                                       {DType::kBF16, DType::kBF16},
                                       {DType::kBF16, DType::kF16}}) {
    const bool narrow = c.out % 256 != 0;
    if (narrow && (dtype != DType::kBF16 || y_dtype != DType::kF16)) continue;
    const GuardedArray a_on_gpu(a, dtype), b_on_gpu(b, dtype);
    for (const bool with_bias : {false, true}) {
      ComponentGemm p = problem_of(c, dtype);
      p.y_dtype = y_dtype;
      if (with_bias) p.bias = test::as_floats(bias_on_gpu);
      const GuardedArray y_on_gpu(lines * c.out);
      run(p, a_on_gpu, b_on_gpu, y_on_gpu);
      const std::vector<float> y = y_on_gpu.values(y_dtype);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double sum = sums[i] + (with_bias ? bias[i % bias.size()] : 0);
        ASSERT_EQ(y[i], test::rounded(sum, y_dtype))
            << to_string(dtype) << " to " << to_string(y_dtype) << ", element " << i;
      }
      EXPECT_TRUE(y_on_gpu.guards_are_whole());
    }
  }
}

// Blocks have tiles of 128 rows, two of them a cluster, and steps of 64 channels.
INSTANTIATE_TEST_SUITE_P(
    Shapes, ComponentGemmOnGpu,
    testing::Values(
        Case{own_inputs(1), 1, 64, 256}, Case{own_inputs(2), 127, 64, 256},
        Case{own_inputs(1), 128, 64, 512}, Case{own_inputs(3), 129, 128, 256},
        Case{own_inputs(2), 256, 192, 256}, Case{own_inputs(2), 257, 320, 512},
        Case{own_inputs(1), 1000, 64, 1024},
        // Taps: rows between them, none, and the same row again.
        Case{own_inputs(2), 1, 64, 256, 3, 1}, Case{own_inputs(3), 300, 128, 512, 3, 37},
        Case{own_inputs(1), 130, 1024, 1024, 3, 65}, Case{own_inputs(2), 90, 64, 256, 2, 0},
        // Narrow ones, from bf16 to f16 alone.
        Case{own_inputs(1), 1, 64, 128}, Case{own_inputs(1), 300, 256, 128, 3, 41},
        Case{own_inputs(3), 129, 64, 384},
        // More components than fill the GPU, and as many as there can be.
        Case{own_inputs(36), 140, 64, 512, 3, 70}, Case{own_inputs(64), 5, 64, 256, 3, 5},
        Case{own_inputs(64), 700, 64, 256},
        // Components that share inputs, as the upsampler's do.
        Case{{0, 1, 2, 2, 3}, 200, 64, 256}, Case{{3, 0, 0, 1, 2, 3, 3}, 33, 128, 512, 3, 11},
        // Fewer rows than are read, and more.
        Case{own_inputs(2), 200, 64, 256, 3, 150, 210}, Case{own_inputs(2), 200, 64, 256, 1, 0, 7},
        Case{own_inputs(2), 20, 64, 256, 3, 5, 400}));

class ComponentGemmLimits : public test::OnHopper {};

TEST_F(ComponentGemmLimits, RefusesWhatFillsNoTile) {
  const auto status = [](std::int64_t components, std::int64_t in, std::int64_t out) {
    ComponentGemm p{.components = components,
                    .a_components = 1,
                    .rows = 1,
                    .a_rows = 1,
                    .in_channels = in,
                    .out_channels = out};
    return component_gemm(p, nullptr);
  };
  EXPECT_EQ(status(1, 32, 256), cudaErrorInvalidValue);
  EXPECT_EQ(status(1, 64, 128), cudaErrorInvalidValue);
  EXPECT_EQ(status(65, 64, 256), cudaErrorInvalidValue);
}

TEST_F(ComponentGemmLimits, HasNothingToDoWithoutRows) {
  const GuardedArray nothing(0);
  ComponentGemm p = problem_of({own_inputs(2), 0, 64, 256}, DType::kF16);
  run(p, nothing, nothing, nothing);
  p = problem_of({own_inputs(1), 1, 64, 0}, DType::kF16);
  run(p, nothing, nothing, nothing);
  EXPECT_TRUE(nothing.guards_are_whole());
}

// a and y of 2.3e9 elements each: component g of a is `rows` rows of the same numbers from row g
// on.
TEST_F(ComponentGemmLimits, ReachesBeyond32Bits) {
  constexpr std::int64_t kComponents = 64, kRows = 70'001, kChannels = 512;
  constexpr std::int64_t kElements = kComponents * kRows * kChannels;
  static_assert(kElements > std::int64_t{1} << 31);
  constexpr std::size_t kNeeded = 2 * 2 * static_cast<std::size_t>(kElements) + (1U << 30);
  if (device::require_gpu(kGpu.index).free_bytes < kNeeded) {
    GTEST_SKIP() << "needs " << (kNeeded >> 30) << " GiB of GPU memory";
  }
  const std::vector<float> lines = test::whole_numbers((kRows + kComponents) * kChannels, 1);
  const std::vector<float> b = test::whole_numbers(kComponents * kChannels * kChannels, 2);
  const GuardedArray lines_on_gpu(lines, DType::kF16), b_on_gpu(b, DType::kF16);
  const GuardedArray a(kElements), y(kElements);
  for (std::int64_t g = 0; g < kComponents; ++g) {
    device::copy(a.data() + g * kRows * kChannels * 2, lines_on_gpu.data() + g * kChannels * 2,
                 kRows * kChannels * 2, nullptr);
  }
  run(problem_of({own_inputs(kComponents), kRows, kChannels, kChannels}, DType::kF16), a, b_on_gpu,
      y);
  const auto expect_row = [&](std::int64_t g, std::int64_t row) {
    const std::vector<float> found =
        y.values(DType::kF16, (g * kRows + row) * kChannels, kChannels);
    for (std::int64_t out = 0; out < kChannels; ++out) {
      double sum = 0;
      for (std::int64_t c = 0; c < kChannels; ++c) {
        sum += double{lines[static_cast<std::size_t>((g + row) * kChannels + c)]} *
               double{b[static_cast<std::size_t>((g * kChannels + out) * kChannels + c)]};
      }
      ASSERT_EQ(found[static_cast<std::size_t>(out)], test::rounded(sum, DType::kF16))
          << "component " << g << ", row " << row << ", column " << out;
    }
  };
  const Random random(3, 0);
  for (std::int64_t g = 0; g < kComponents; ++g) {
    expect_row(g, 0);
    expect_row(g, kRows - 1);
    for (std::int64_t i = 0; i < 20; ++i) {
      expect_row(g, static_cast<std::int64_t>(random.bits(g * 20 + i) % kRows));
    }
  }
  EXPECT_TRUE(y.guards_are_whole());
}

}  // namespace
}  // namespace pantograph::kernels
