#include "ops/linear/linear.h"

#include <gtest/gtest.h>

#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::OpRunner;

// Whole numbers from -3 to 3: sums of their products are exact in f32, in any order.
std::vector<float> whole(std::uint64_t seed, std::int64_t count) {
  const Random random(seed, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.bits(i) % 7) - 3;
  }
  return values;
}

Weight weight(std::vector<float> values, std::vector<std::int64_t> shape) {
  return {std::move(values), shape};
}

TEST(Linear, ValuesByHand) {
  // W = [[1, 2, 3], [4, 5, 6]], bias [10, 20]
  const LinearWeights weights({weight({1, 2, 3, 4, 5, 6}, {2, 3})}, {weight({10, 20}, {2})});
  std::vector<float> x = {1, 0, -1, 2, 2, 2}, y(4, test::kNan);
  const std::vector<float> expected = {8, 18, 22, 50};
  OpRunner().run([&](const Context& context) {
    linear(context, weights, RowsView::dense(x.data(), 2, 3), RowsView::dense(y.data(), 2, 2));
  });
  EXPECT_EQ(y, expected);
  std::fill(y.begin(), y.end(), test::kNan);
  reference_linear(weights, RowsView::dense(x.data(), 2, 3), RowsView::dense(y.data(), 2, 2));
  EXPECT_EQ(y, expected);
}

TEST(Linear, EveryNumberOfRowsMatchesThePlainLoops) {
  for (const auto& [in, out] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 5}, {64, 48}, {97, 130}, {256, 17}}) {
    for (const bool biased : {false, true}) {
      std::vector<Weight> biases;
      if (biased) biases.push_back(weight(whole(2, out), {out}));
      const LinearWeights weights({weight(whole(1, in * out), {out, in})}, biases);
      for (const std::int64_t rows : {1, 2, 7, 33, 100, 1}) {
        std::vector<float> x = whole(3, rows * in), y(static_cast<std::size_t>(rows * out));
        std::vector<float> expected = y;
        OpRunner().run([&](const Context& context) {
          linear(context, weights, RowsView::dense(x.data(), rows, in),
                 RowsView::dense(y.data(), rows, out));
        });
        reference_linear(weights, RowsView::dense(x.data(), rows, in),
                         RowsView::dense(expected.data(), rows, out));
        ASSERT_EQ(y, expected) << in << " -> " << out << " on " << rows;
      }
    }
  }
}

TEST(Linear, AddsToWhatIsThere) {
  const LinearWeights weights({weight({1, 2}, {2, 1})}, {weight({5, 5}, {2})});
  std::vector<float> x = {1, 3}, y = {100, 200, 300, 400};
  OpRunner runner;
  runner.run([&](const Context& context) {
    linear(context, weights, RowsView::dense(x.data(), 2, 1), RowsView::dense(y.data(), 2, 2),
           Store::kAdd);
  });
  EXPECT_EQ(y, (std::vector<float>{106, 207, 308, 411}));
}

TEST(Linear, ColumnsOfWiderRowsAreReadAndWrittenInPlace) {
  const LinearWeights weights({weight(whole(1, 6), {2, 3})});
  std::vector<float> x = whole(2, 20), y(16, 77), expected(4);
  const RowsView wide_x = RowsView::dense(x.data(), 2, 10),
                 wide_y = RowsView::dense(y.data(), 2, 8);
  OpRunner().run([&](const Context& context) {
    linear(context, weights, wide_x.slice_columns(4, 3), wide_y.slice_columns(5, 2));
  });
  reference_linear(weights, wide_x.slice_columns(4, 3), RowsView::dense(expected.data(), 2, 2));
  EXPECT_EQ(y[5], expected[0]);
  EXPECT_EQ(y[14], expected[3]);
  for (const std::size_t i : {0, 1, 2, 3, 4, 7, 8, 12, 15}) EXPECT_EQ(y[i], 77) << i;
}

TEST(Linear, SeveralWeightsAreOneMatrix) {
  const LinearWeights stacked(
      {weight({1, 2}, {1, 2}), weight({3, 4, 5, 6}, {2, 2}), weight({7, 8}, {1, 2})},
      {weight({1}, {1}), weight({2, 3}, {2}), weight({4}, {1})});
  EXPECT_EQ(stacked.out(), 4);
  EXPECT_EQ(stacked.to_f32(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(stacked.bias(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Linear, AConvolutionOverPatchesIsALinearLayer) {
  const LinearWeights weights({weight(whole(1, 24), {2, 3, 1, 2, 2})});
  EXPECT_EQ(weights.in(), 12);
  EXPECT_EQ(weights.out(), 2);
}

TEST(Linear, WeightsThatDisagreeAreRefused) {
  expect_error(ErrorKind::kFormat, {"[4]", "[out, in]"},
               [] { const LinearWeights refused({weight({1, 2, 3, 4}, {4})}); });
  expect_error(ErrorKind::kFormat, {"take 2 and 3 channels"}, [] {
    const LinearWeights refused({weight({1, 2}, {1, 2}), weight({1, 2, 3}, {1, 3})});
  });
  expect_error(ErrorKind::kFormat, {"bias", "[3]", "[1, 2]"}, [] {
    const LinearWeights refused({weight({1, 2}, {1, 2})}, {weight({1, 2, 3}, {3})});
  });
}

TEST(Linear, ShapesThatDoNotFitAreADefect) {
  const LinearWeights weights({weight({1, 2}, {1, 2})});
  std::vector<float> x(3), y(1);
  expect_error(ErrorKind::kInternal, {"x [1, 3]", "y [1, 1]", "[1, 2]"}, [&] {
    OpRunner().run([&](const Context& context) {
      linear(context, weights, RowsView::dense(x.data(), 1, 3), RowsView::dense(y.data(), 1, 1));
    });
  });
}

}  // namespace
}  // namespace pantograph::ops
