#include "ops/attention/multi_head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/memory.h"
#include "core/random.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

struct Case {
  std::int64_t tokens, heads, d;
  double sharpness = 1;  // of q
};

class Attention {
 public:
  explicit Attention(const Case& c)
      : c_(c),
        width_(c.heads * c.d),
        qkv_(static_cast<std::size_t>(c.tokens * 3 * width_)),
        y_(static_cast<std::size_t>(c.tokens * width_), NAN) {
    const Random random(3, static_cast<std::uint64_t>(c.tokens));
    for (std::size_t i = 0; i < qkv_.size(); ++i) {
      const bool is_q = static_cast<std::int64_t>(i) % (3 * width_) < width_;
      qkv_[i] = static_cast<float>(random.normal(i) * (is_q ? c.sharpness : 1));
    }
  }

  // As a session runs it; returns the planned bytes.
  std::size_t run(bool only_plan = false) {
    Arena arena;
    Context context{.arena = &arena, .planning = true};
    call(context);
    const std::size_t bytes = arena.peak();
    if (only_plan) return bytes;
    const Buffer slab(bytes);
    arena.bind(slab.data(), bytes);
    context.planning = false;
    call(context);
    return bytes;
  }

  // Of one query and head, in f64.
  void expect_query(std::int64_t query, std::int64_t head, double tolerance) const {
    std::vector<double> weights(static_cast<std::size_t>(c_.tokens));
    double largest = -INFINITY, sum = 0;
    for (std::int64_t key = 0; key < c_.tokens; ++key) {
      double dot = 0;
      for (std::int64_t i = 0; i < c_.d; ++i) dot += at(query, 0, head, i) * at(key, 1, head, i);
      weights[key] = dot / std::sqrt(static_cast<double>(c_.d));
      largest = std::max(largest, weights[key]);
    }
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (std::int64_t i = 0; i < c_.d; ++i) {
      double expected = 0;
      for (std::int64_t key = 0; key < c_.tokens; ++key) {
        expected += weights[key] / sum * at(key, 2, head, i);
      }
      ASSERT_NEAR(y_[query * width_ + head * c_.d + i], expected, tolerance)
          << "query " << query << " head " << head << " channel " << i;
    }
  }
  [[nodiscard]] std::int64_t missing() const {
    return std::count_if(y_.begin(), y_.end(), [](float value) { return std::isnan(value); });
  }

 private:
  void call(const Context& context) {
    const RowsView all = RowsView::dense(qkv_.data(), c_.tokens, 3 * width_);
    multi_head_attention(context, c_.heads, all.slice_columns(0, width_),
                         all.slice_columns(width_, width_), all.slice_columns(2 * width_, width_),
                         RowsView::dense(y_.data(), c_.tokens, width_));
  }
  [[nodiscard]] double at(std::int64_t token, std::int64_t part, std::int64_t head,
                          std::int64_t i) const {
    return qkv_[static_cast<std::size_t>(((token * 3 + part) * c_.heads + head) * c_.d + i)];
  }

  Case c_;
  std::int64_t width_;
  std::vector<float> qkv_, y_;
};

TEST(MultiHeadAttention, IsASoftmaxInDouble) {
  for (const Case& c : {Case{1, 1, 2}, Case{5, 3, 4}, Case{18, 2, 12}, Case{70, 4, 32, 6}}) {
    Attention attention(c);
    attention.run();
    for (std::int64_t query = 0; query < c.tokens; ++query) {
      for (std::int64_t head = 0; head < c.heads; ++head) {
        attention.expect_query(query, head, 2e-6 * c.sharpness * c.sharpness);
      }
    }
  }
}

// 3000 tokens: 256 queries of 2 heads at a time, so that heads and queries both have a rest.
TEST(MultiHeadAttention, TilesCoverHeadsAndQueriesOnce) {
  Attention attention({3000, 5, 2});
  attention.run();
  EXPECT_EQ(attention.missing(), 0);
  for (const std::int64_t query : {0, 255, 256, 2815, 2816, 2999}) {
    for (std::int64_t head = 0; head < 5; ++head) attention.expect_query(query, head, 2e-6);
  }
}

TEST(MultiHeadAttention, ScoresStayBelowTheirLimit) {
  const auto limit = static_cast<std::size_t>(kMostScores) * sizeof(float);
  const std::size_t bytes = Attention({5000, 8, 2}).run(true);
  EXPECT_GT(bytes, limit / 2);
  EXPECT_LE(bytes, limit + (1U << 20));
}

TEST(MultiHeadAttention, ShapesThatDoNotFitAreADefect) {
  std::vector<float> values(24);
  const RowsView x = RowsView::dense(values.data(), 4, 6);
  Arena arena;
  const Context context{.arena = &arena, .planning = true};
  test::expect_error(ErrorKind::kInternal, {"multi_head_attention"},
                     [&] { multi_head_attention(context, 4, x, x, x, x); });
  test::expect_error(ErrorKind::kInternal, {"multi_head_attention"},
                     [&] { multi_head_attention(context, 2, x, x.slice_rows(0, 3), x, x); });
}

}  // namespace
}  // namespace pantograph::ops
