#include "ops/delta_rule/delta_rule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::OpRunner;

// Values for all tensors of a problem.
struct Values {
  std::vector<float> q, k, v, g, beta, y;
  DeltaRuleTensors tensors;

  Values(const DeltaRuleHeads& h, std::int64_t tokens) {
    const auto make = [&](std::vector<float>& values, std::int64_t columns, std::uint64_t stream) {
      values.resize(static_cast<std::size_t>(tokens * columns));
      const Random random(3, stream);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(random.normal(i));
      }
      return RowsView::dense(values.data(), tokens, columns);
    };
    tensors = {.q = make(q, h.key_heads * h.key_dim, 0),
               .k = make(k, h.key_heads * h.key_dim, 1),
               .v = make(v, h.value_heads * h.value_dim, 2),
               .g = make(g, h.value_heads, 3),
               .beta = make(beta, h.value_heads, 4),
               .y = make(y, h.value_heads * h.value_dim, 5)};
    for (float& x : g) x = -0.3F * std::abs(x);
    for (float& x : beta) x = 1 / (1 + std::exp(-x));
    // Keys of length 1: longer ones would let the state grow without bound.
    for (std::int64_t i = 0; i < tokens * h.key_heads; ++i) {
      float* key = k.data() + i * h.key_dim;
      float squares = 0;
      for (std::int64_t j = 0; j < h.key_dim; ++j) squares += key[j] * key[j];
      for (std::int64_t j = 0; j < h.key_dim; ++j) key[j] /= std::sqrt(squares);
    }
  }
};

TEST(DeltaRule, TwoTokensByHand) {
  // One head of one channel: S and y are numbers.
  const DeltaRuleHeads heads{.key_heads = 1, .value_heads = 1, .key_dim = 1, .value_dim = 1};
  Values values(heads, 2);
  values.q = {2, 3};
  values.k = {0.5F, 1};
  values.v = {4, 8};
  values.g = {-5, std::log(0.5F)};
  values.beta = {0.5F, 0.25F};
  // S1 = 0.5 * (0.5 * 4) = 1, y1 = 2. S2 = 0.5 + 1 * 0.25 (8 - 0.5) = 2.375, y2 = 7.125.
  const auto expect_values = [&] {
    EXPECT_FLOAT_EQ(values.y[0], 2);
    EXPECT_FLOAT_EQ(values.y[1], 7.125F);
  };
  reference_gated_delta_rule(heads, values.tensors);
  expect_values();
  OpRunner().run([&](const Context& context) { gated_delta_rule(context, heads, values.tensors); });
  expect_values();
}

TEST(DeltaRule, ChunksMatchTheRecurrence) {
  const std::vector<DeltaRuleHeads> problems = {
      {.key_heads = 1, .value_heads = 1, .key_dim = 8, .value_dim = 8},
      {.key_heads = 2, .value_heads = 4, .key_dim = 16, .value_dim = 24},
      {.key_heads = 3, .value_heads = 3, .key_dim = 5, .value_dim = 7}};
  for (const DeltaRuleHeads& heads : problems) {
    for (const std::int64_t tokens : {1, 2, 63, 64, 65, 200}) {
      Values values(heads, tokens);
      reference_gated_delta_rule(heads, values.tensors);
      const std::vector<float> expected = values.y;
      std::fill(values.y.begin(), values.y.end(), test::kNan);
      OpRunner().run(
          [&](const Context& context) { gated_delta_rule(context, heads, values.tensors); });
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // Values are of order 1; both sum up to 200 rounded terms.
        ASSERT_NEAR(values.y[i], expected[i], 2e-5) << tokens << " " << i;
      }
    }
  }
}

TEST(DeltaRule, AStateThatIsForgottenLeavesTheTokenAlone) {
  const DeltaRuleHeads heads{.key_heads = 1, .value_heads = 2, .key_dim = 4, .value_dim = 3};
  Values values(heads, 70);
  std::fill(values.g.begin(), values.g.end(), -1e4F);
  OpRunner().run([&](const Context& context) { gated_delta_rule(context, heads, values.tensors); });
  // y = (q . k) beta v / sqrt(key_dim)
  for (std::size_t t = 0; t < 70; ++t) {
    float product = 0;
    for (std::size_t i = 0; i < 4; ++i) product += values.q[t * 4 + i] * values.k[t * 4 + i];
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t j = 0; j < 3; ++j) {
        ASSERT_NEAR(values.y[t * 6 + h * 3 + j],
                    product / 2 * values.beta[t * 2 + h] * values.v[t * 6 + h * 3 + j], 1e-5);
      }
    }
  }
}

TEST(DeltaRule, ShapesThatDoNotFitAreADefect) {
  const DeltaRuleHeads heads{.key_heads = 2, .value_heads = 3, .key_dim = 4, .value_dim = 4};
  Values values(heads, 2);
  expect_error(ErrorKind::kInternal, {"gated_delta_rule", "2 key heads"},
               [&] { reference_gated_delta_rule(heads, values.tensors); });
}

}  // namespace
}  // namespace pantograph::ops
