// The VAE's kernels that enlarge frames, and that which sums a convolution's taps, each alone
// against its formula in launch.h: copies, and sums that f32 computes exactly.
#include <array>

#include "kernels/wan_vae/launch.h"
#include "wan_vae_kernels.h"

namespace pantograph::kernels {
namespace {

using geometry::DuplicateUpsample;
using test::GuardedArray;
using test::Shape;

class WanVaeUpsampleKernels : public test::OnGpu {};

struct FramesCase {
  std::int64_t frames, height, width, channels, copies = 1;
};
// Channels that are whole vectors in both types, in f32 alone and in neither; rows of less and of
// more vectors or channels than a block has threads.
constexpr FramesCase kFramesCases[] = {{2, 3, 5, 16},     {2, 3, 5, 16, 2}, {1, 2, 7, 520},
                                       {2, 2, 3, 520, 2}, {1, 2, 3, 4},     {2, 1, 3, 12, 2},
                                       {1, 1, 1, 1},      {3, 2, 4, 3, 2},  {1, 3, 43, 7}};

// y [copies t + a, factor i + p, factor j + q, c] = x [t, i, j, a channels + c]
template <typename Launch>
void expect_apart(const FramesCase& c, DType dtype, std::int64_t factor, const Launch& launch) {
  const Shape in{c.frames, c.height, c.width, c.copies * c.channels};
  const Shape out{c.copies * c.frames, factor * c.height, factor * c.width, c.channels};
  const std::vector<float> values = test::numbers(in.elements(), 1);
  const GuardedArray x(values, dtype), y(out.elements(), dtype);
  test::run(launch({.dtype = dtype,
                    .frames = c.frames,
                    .height = c.height,
                    .width = c.width,
                    .channels = c.channels,
                    .copies = c.copies,
                    .x = x.data(),
                    .y = y.data()},
                   nullptr));
  test::expect_rounded(y, dtype,
                       test::elements(out, [&](auto frame, auto row, auto column, auto k) {
                         return values[in.at(frame / c.copies, row / factor, column / factor,
                                             frame % c.copies * c.channels + k)];
                       }));
}

TEST_F(WanVaeUpsampleKernels, NearestUpsampleRepeatsPixels) {
  test::for_each_case(kFramesCases, [](const FramesCase& c, DType dtype) {
    expect_apart(c, dtype, 2, nearest_upsample);
  });
}

TEST_F(WanVaeUpsampleKernels, SplitFramesTakesCopiesApart) {
  test::for_each_case(kFramesCases, [](const FramesCase& c, DType dtype) {
    expect_apart(c, dtype, 1, split_frames);
  });
}

// frames, height and width of x, channels of x and of y, temporal factor, skipped
constexpr DuplicateUpsample kDuplicateCases[] = {
    // As many channels, and two, four and eight times as many; half of them.
    {2, 3, 5, 16, 16},
    {1, 2, 3, 16, 16, 2, 1},
    {2, 3, 5, 32, 16},
    {2, 2, 3, 32, 16, 2},
    {1, 2, 3, 64, 16},
    {2, 2, 3, 128, 16, 2, 1},
    {2, 1, 2, 8, 16, 2, 1},
    // Whole vectors in f32 alone, in y alone, and in neither.
    {1, 2, 3, 12, 12},
    {1, 3, 2, 24, 12, 2},
    {1, 2, 3, 4, 8},
    {1, 2, 3, 2, 4},
    {2, 3, 2, 6, 3, 2, 1},
    {1, 1, 1, 1, 1},
    // A pixel of more vectors or channels than a block has threads.
    {1, 1, 2, 4112, 2056},
    {1, 2, 3, 301, 301}};

// y [f t + a - skipped, 2 i + p, 2 j + q, c] = x [t, i, j, (4 f c + 4 a + 2 p + q) / repeats]
struct Duplicated {
  explicit Duplicated(const DuplicateUpsample& shape)
      : factor(shape.temporal_factor),
        skipped(shape.skipped),
        in{shape.frames, shape.height, shape.width, shape.in_channels},
        out{factor * shape.frames - skipped, 2 * shape.height, 2 * shape.width, shape.out_channels},
        x(test::numbers(in.elements(), 1)) {}
  [[nodiscard]] double operator()(std::int64_t frame, std::int64_t row, std::int64_t column,
                                  std::int64_t c) const {
    const std::int64_t repeats = 4 * factor * out.channels / in.channels;
    const std::int64_t t = (frame + skipped) / factor, a = (frame + skipped) % factor;
    return x[in.at(t, row / 2, column / 2,
                   (4 * factor * c + 4 * a + 2 * (row % 2) + column % 2) / repeats)];
  }

  std::int64_t factor, skipped;
  Shape in, out;
  std::vector<float> x;
};

TEST_F(WanVaeUpsampleKernels, DuplicateUpsampleRepeatsChannels) {
  test::for_each_case(kDuplicateCases, [](const DuplicateUpsample& shape, DType dtype) {
    const Duplicated duplicated(shape);
    const GuardedArray x(duplicated.x, dtype), y(duplicated.out.elements(), dtype);
    test::run(duplicate_upsample(shape, dtype, x.data(), y.data(), nullptr));
    test::expect_rounded(y, dtype, test::elements(duplicated.out, duplicated));
  });
}

TEST_F(WanVaeUpsampleKernels, JoinColumnsFillsEverySecondRow) {
  test::for_each_case(kDuplicateCases, [](const DuplicateUpsample& shape, DType dtype) {
    const Duplicated duplicated(shape);
    const Shape half{duplicated.out.frames, shape.height, shape.width, shape.out_channels};
    const std::array added = {test::numbers(half.elements(), 2), test::numbers(half.elements(), 3)};
    const GuardedArray x(duplicated.x, dtype), even(added[0], dtype), odd(added[1], dtype);
    for (const std::int64_t first : {0, 1}) {
      const GuardedArray y(duplicated.out.elements(), dtype);
      test::run(join_columns({.dtype = dtype,
                              .duplicate = shape,
                              .row = first,
                              .x = x.data(),
                              .even = even.data(),
                              .odd = odd.data(),
                              .y = y.data()},
                             nullptr));
      const auto expected = [&](auto frame, auto row, auto column, auto c) -> double {
        if (row % 2 != first) return test::kNaN;
        const std::vector<float>& columns = added[static_cast<std::size_t>(column % 2)];
        return duplicated(frame, row, column, c) + columns[half.at(frame, row / 2, column / 2, c)];
      };
      test::expect_rounded(y, dtype, test::elements(duplicated.out, expected));
    }
  });
}

struct TapsCase {
  std::int64_t frames, height, width, channels, part_channels;
};

TEST_F(WanVaeUpsampleKernels, SumTapsAddsWhatNeighboursMade) {
  // Pixels with and without neighbours, a row of more threads than a block has, parts with room at
  // the end, and more rows than a grid's y.
  constexpr TapsCase kCases[] = {{1, 1, 1, 4, 36},
                                 {2, 3, 5, 12, 108},
                                 {2, 1, 300, 4, 40},
                                 {2, 4, 23, 64, 640},
                                 {7, 10'001, 1, 4, 36}};
  for (const TapsCase& c : kCases) {
    const Shape parts{c.frames, c.height, c.width, c.part_channels};
    const Shape out{c.frames, c.height, c.width, c.channels};
    std::vector<float> values = test::numbers(parts.elements(), 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (static_cast<std::int64_t>(i) % c.part_channels >= 9 * c.channels) values[i] = test::kNaN;
    }
    const auto expected = [&](auto frame, auto row, auto column, auto channel) {
      double sum = 0;
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
          const std::int64_t r = row + i - 1, s = column + j - 1;
          if (r < 0 || r >= c.height || s < 0 || s >= c.width) continue;
          sum += values[parts.at(frame, r, s, (3 * i + j) * c.channels + channel)];
        }
      }
      return sum;
    };
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      SCOPED_TRACE(testing::Message() << "case " << &c - kCases << " in " << to_string(dtype));
      const GuardedArray parts_on_gpu(values, dtype), y(out.elements(), DType::kBF16);
      test::run(sum_taps({.dtype = dtype,
                          .frames = c.frames,
                          .height = c.height,
                          .width = c.width,
                          .channels = c.channels,
                          .part_channels = c.part_channels,
                          .parts = parts_on_gpu.data(),
                          .y = y.data()},
                         nullptr));
      test::expect_rounded(y, DType::kBF16, test::elements(out, expected));
    }
  }
}

TEST_F(WanVaeUpsampleKernels, TakeNoFramesAndNoOtherType) {
  EXPECT_EQ(nearest_upsample({}, nullptr), cudaSuccess);
  EXPECT_EQ(split_frames({}, nullptr), cudaSuccess);
  EXPECT_EQ(duplicate_upsample({}, DType::kF32, nullptr, nullptr, nullptr), cudaSuccess);
  EXPECT_EQ(join_columns({}, nullptr), cudaSuccess);
  EXPECT_EQ(sum_taps({}, nullptr), cudaSuccess);

  constexpr DType kOther = DType::kF16;
  const NearestUpsample frames{.dtype = kOther, .frames = 1, .height = 1};
  const DuplicateUpsample shape{.frames = 1, .height = 1};
  EXPECT_EQ(nearest_upsample(frames, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(split_frames(frames, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(duplicate_upsample(shape, kOther, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(join_columns({.dtype = kOther, .duplicate = shape}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sum_taps({.dtype = DType::kF32,
                      .frames = 1,
                      .height = 1,
                      .width = 1,
                      .channels = 4,
                      .part_channels = 36},
                     nullptr),
            cudaErrorInvalidValue);
}

TEST_F(WanVaeUpsampleKernels, SumTapsRefusesChannelsThatAreNoMultipleOf4) {
  EXPECT_EQ(sum_taps({.channels = 6, .part_channels = 56}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sum_taps({.channels = 4, .part_channels = 37}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace pantograph::kernels
