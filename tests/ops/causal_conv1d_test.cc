#include "ops/causal_conv1d/causal_conv1d.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::OpRunner;

double silu(double x) {
  return x / (1 + std::exp(-x));
}

TEST(CausalConv1d, ByHand) {
  // Channel 0 weighs the last three tokens 1, 2, 3; channel 1 only the present one.
  const DepthwiseWeights weights({1, 2, 3, 0, 0, 1}, 2);
  EXPECT_EQ(weights.taps, 3);
  std::vector<float> x = {1, 5, 0.5F, -5, -1, 0, 0, 2}, y(8, test::kNan);
  OpRunner().run([&](const Context& context) {
    causal_conv1d_silu(context, weights, RowsView::dense(x.data(), 4, 2),
                       RowsView::dense(y.data(), 4, 2));
  });
  const std::vector<double> sums = {3, 5, 3.5, -5, -1, 0, -1.5, 2};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(y[i], silu(sums[i]), 2e-6) << i;
}

TEST(CausalConv1d, ReadsColumnsOfWiderRows) {
  const DepthwiseWeights weights({1, 1}, 1);
  std::vector<float> x = {9, 1, 9, 9, 2, 9, 9, 3, 9}, y(3, test::kNan);
  OpRunner().run([&](const Context& context) {
    causal_conv1d_silu(context, weights, RowsView::dense(x.data(), 3, 3).slice_columns(1, 1),
                       RowsView::dense(y.data(), 3, 1));
  });
  for (std::size_t t = 0; t < 3; ++t)
    EXPECT_NEAR(y[t], silu(t == 0 ? 1 : 2 * static_cast<double>(t) + 1), 2e-6);
}

TEST(CausalConv1d, ShapesThatDoNotFitAreADefect) {
  const DepthwiseWeights weights({1, 1}, 1);
  std::vector<float> x(4), y(4);
  expect_error(ErrorKind::kInternal, {"causal_conv1d", "1 channels"}, [&] {
    OpRunner().run([&](const Context& context) {
      causal_conv1d_silu(context, weights, RowsView::dense(x.data(), 2, 2),
                         RowsView::dense(y.data(), 2, 2));
    });
  });
}

}  // namespace
}  // namespace pantograph::ops
