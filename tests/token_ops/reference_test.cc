// Closed forms on a CPU; the Python tests compare with PyTorch, and GPUs with this reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/half.h"
#include "ops/token_ops/token_ops.h"
#include "pantograph/error.h"

namespace pantograph::ops {
namespace {

TEST(QkRmsNormRope, TurnsAPairByAQuarter) {
  const std::vector<float> x{3, 4}, weight{1, 2}, cos{0}, sin{1};
  std::vector<float> q_out(2), k_out(2), rstd(2);
  QkRmsNormRope problem{.dtype = DType::kF32, .batch = 1, .tokens = 1, .heads = 1, .head_dim = 2};
  problem.q = {x.data(), {2, 2, 2}, weight.data(), q_out.data(), &rstd[0]};
  problem.k = {x.data(), {2, 2, 2}, weight.data(), k_out.data(), &rstd[1]};
  problem.cos = cos.data();
  problem.sin = sin.data();
  qk_rmsnorm_rope(problem, {});
  const float r = 1 / std::sqrt(12.5F);  // the mean of 9 and 16
  EXPECT_FLOAT_EQ(rstd[0], r);
  EXPECT_FLOAT_EQ(q_out[0], -8 * r);
  EXPECT_FLOAT_EQ(q_out[1], 3 * r);
  EXPECT_EQ(k_out, q_out);
}

TEST(LayerNormModulate, NormalisesScalesAndShifts) {
  const std::vector<double> x{1, 3}, scale{2, 4}, shift{10, 20};
  std::vector<double> out(2), mean(1), rstd(1);
  layer_norm_modulate({.dtype = DType::kF64,
                       .shape = {1, 1, 2},
                       .x = {x.data(), {2, 2}},
                       .scale = {scale.data(), 0},
                       .shift = {shift.data(), 0},
                       .out = out.data(),
                       .mean = mean.data(),
                       .rstd = rstd.data()},
                      {});
  EXPECT_DOUBLE_EQ(mean[0], 2);
  EXPECT_DOUBLE_EQ(rstd[0], 1);
  EXPECT_DOUBLE_EQ(out[0], 8);   // -1 * 2 + 10
  EXPECT_DOUBLE_EQ(out[1], 24);  // 1 * 4 + 20
}

TEST(GatedResidual, RoundsOnce) {
  // 1 + 2^-8 lies halfway between two bf16 values and ties to the even one, 1; the product alone,
  // (1 + 2^-7)^2 2^-8, is not a bf16 value and pushes the sum past the middle.
  const std::vector<std::uint16_t> x{float_to_bf16(1)}, y{float_to_bf16(1 + 0x1p-7F)},
      gate{float_to_bf16((1 + 0x1p-7F) * 0x1p-8F)};
  std::vector<std::uint16_t> out(1);
  gated_residual({DType::kBF16,
                  {1, 1, 1},
                  {x.data(), {1, 1}},
                  {y.data(), {1, 1}},
                  {gate.data(), 0},
                  out.data()},
                 {});
  EXPECT_EQ(bf16_to_float(out[0]), 1 + 0x1p-7F);
}

TEST(GatedResidualBackward, SumsOverTheRowsOfASharedTable) {
  const std::vector<float> grad{1, 2, 3, 4}, y{5, 6, 7, 8}, gate{2, 3};
  std::vector<float> grad_y(4), grad_gate(2);
  gated_residual_backward({DType::kF32,
                           {2, 1, 2},
                           {grad.data(), {2, 2}},
                           {y.data(), {2, 2}},
                           {gate.data(), 0},
                           grad_y.data(),
                           grad_gate.data()},
                          nullptr, {});
  EXPECT_EQ(grad_y, (std::vector<float>{2, 6, 6, 12}));
  EXPECT_EQ(grad_gate, (std::vector<float>{1 * 5 + 3 * 7, 2 * 6 + 4 * 8}));
}

TEST(Activations, HaveTheirLimits) {
  const std::vector<float> x{0, 20, -20};
  std::vector<float> out(3);
  gelu_tanh({DType::kF32, {1, 1, 3}, {x.data(), {3, 3}}, out.data()}, {});
  EXPECT_EQ(out[0], 0);
  EXPECT_FLOAT_EQ(out[1], 20);
  EXPECT_NEAR(out[2], 0, 1e-30);
  swiglu({DType::kF32, {1, 1, 3}, {x.data(), {3, 3}}, {x.data(), {3, 3}}, out.data()}, {});
  EXPECT_EQ(out[0], 0);
  EXPECT_FLOAT_EQ(out[1], 400);
  EXPECT_NEAR(out[2], 400 * std::exp(-20.0F), 1e-11);
}

TEST(TokenOps, RefuseWhatTheyCannotCompute) {
  const auto heads = [](std::int64_t head_dim) {
    QkRmsNormRope problem;
    problem.head_dim = head_dim;
    qk_rmsnorm_rope(problem, {});
  };
  EXPECT_THROW(heads(3), Error);
  EXPECT_THROW(heads(514), Error);
  EXPECT_THROW(layer_norm_modulate({.shape = {1, 1, 16385}}, {}), Error);
  EXPECT_THROW(gelu_tanh({.dtype = DType::kI32}, {}), Error);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(gelu_tanh({.shape = {huge, huge, 2}}, {}), Error);
}

}  // namespace
}  // namespace pantograph::ops
