#include "ops/attention/causal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::OpRunner;

std::vector<float> normal(std::uint64_t seed, std::int64_t count) {
  const Random random(seed, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(random.normal(i));
  return values;
}

// The definition in double, for every `stride`th query.
void expect_attention(std::int64_t tokens, std::int64_t heads, std::int64_t kv_heads,
                      std::int64_t d, std::int64_t stride = 1) {
  std::vector<float> q = normal(1, tokens * heads * d), k = normal(2, tokens * kv_heads * d);
  std::vector<float> v = normal(3, tokens * kv_heads * d);
  std::vector<float> y(q.size(), test::kNan);
  const RowsView queries = RowsView::dense(q.data(), tokens, heads * d);
  const RowsView keys = RowsView::dense(k.data(), tokens, kv_heads * d);
  const RowsView values = RowsView::dense(v.data(), tokens, kv_heads * d);
  const RowsView out = RowsView::dense(y.data(), tokens, heads * d);
  OpRunner().run([&](const Context& context) {
    causal_attention(context, heads, kv_heads, queries, keys, values, out);
  });
  for (std::int64_t t = 0; t < tokens; t += stride) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t kv = h / (heads / kv_heads) * d;
      std::vector<double> weights(static_cast<std::size_t>(t + 1));
      double sum = 0;
      for (std::int64_t s = 0; s <= t; ++s) {
        double dot = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          dot += double{queries.f32_row(t)[h * d + c]} * double{keys.f32_row(s)[kv + c]};
        }
        sum += weights[static_cast<std::size_t>(s)] =
            std::exp(dot / std::sqrt(static_cast<double>(d)));
      }
      for (std::int64_t c = 0; c < d; ++c) {
        double expected = 0;
        for (std::int64_t s = 0; s <= t; ++s) {
          expected +=
              weights[static_cast<std::size_t>(s)] / sum * double{values.f32_row(s)[kv + c]};
        }
        ASSERT_NEAR(out.f32_row(t)[h * d + c], expected, 3e-6) << t << " " << h << " " << c;
      }
    }
  }
  for (const float value : y) ASSERT_TRUE(std::isfinite(value));
}

TEST(CausalAttention, IsAMaskedSoftmaxInDouble) {
  expect_attention(1, 1, 1, 4);
  expect_attention(2, 2, 1, 3);
  expect_attention(17, 4, 4, 8);
  expect_attention(33, 8, 2, 16);
}

TEST(CausalAttention, MoreTokensThanABlockOfQueries) {
  expect_attention(kCausalQueries + 1, 2, 1, 8, 5);
  expect_attention(2 * kCausalQueries + 30, 1, 1, 4, 7);
}

TEST(CausalAttention, ReadsColumnsOfWiderRows) {
  std::vector<float> all = normal(4, 5 * 12), y(20, test::kNan), expected(20, test::kNan);
  std::vector<float> parts[3];
  for (std::int64_t part = 0; part < 3; ++part) {
    for (std::int64_t t = 0; t < 5; ++t) {
      const float* row = all.data() + t * 12 + part * 4;
      parts[part].insert(parts[part].end(), row, row + 4);
    }
  }
  const RowsView wide = RowsView::dense(all.data(), 5, 12);
  const auto narrow = [&](std::vector<float>& values) {
    return RowsView::dense(values.data(), 5, 4);
  };
  OpRunner().run([&](const Context& context) {
    causal_attention(context, 2, 2, wide.slice_columns(0, 4), wide.slice_columns(4, 4),
                     wide.slice_columns(8, 4), narrow(y));
    causal_attention(context, 2, 2, narrow(parts[0]), narrow(parts[1]), narrow(parts[2]),
                     narrow(expected));
  });
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-6) << i;
}

TEST(CausalAttention, ShapesThatDoNotFitAreADefect) {
  std::vector<float> x(12);
  const RowsView rows = RowsView::dense(x.data(), 2, 6);
  expect_error(ErrorKind::kInternal, {"causal_attention", "3 heads"}, [&] {
    OpRunner().run(
        [&](const Context& context) { causal_attention(context, 3, 2, rows, rows, rows, rows); });
  });
}

}  // namespace
}  // namespace pantograph::ops
