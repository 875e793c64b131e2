#include <gtest/gtest.h>

#include <array>
#include <string>

#include "ops/token_ops/from_tensors.h"
#include "pantograph/error.h"

namespace pantograph::ops {
namespace {

std::array<float, 64> memory{};

TensorView tensor(std::initializer_list<std::int64_t> shape, DType dtype = DType::kF32) {
  return TensorView::dense(memory.data(), dtype, shape);
}

TEST(FromTensors, TakesStridesAsTheyAre) {
  const TensorView both = tensor({1, 2, 8});  // value and gate, [B, S, 2C]
  const auto problem = swiglu_problem(both.slice(2, 0, 4), both.slice(2, 4, 4), tensor({1, 2, 4}));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->gate.data, memory.data() + 4);
  EXPECT_EQ(problem->gate.strides.token, 8);
  EXPECT_EQ(problem->shape.channels, 4);
}

TEST(FromTensors, AsksForACopyOfWhatItCannotWalk) {
  TensorView transposed = tensor({1, 4, 4});
  transposed.strides = {16, 1, 4};
  EXPECT_FALSE(gelu_tanh_problem(transposed, tensor({1, 4, 4})));
  TensorView expanded = tensor({2, 4});
  expanded.strides = {0, 1};
  const TensorView x = tensor({2, 1, 4});
  EXPECT_FALSE(gated_residual_problem(x, x, expanded, x));
  EXPECT_TRUE(gated_residual_problem(x, x, tensor({4}), x));
}

TEST(FromTensors, SaysWhatATensorIsAndWhatItMustBe) {
  const TensorView x = tensor({2, 3, 4});
  try {
    (void)layer_norm_modulate_problem(x, tensor({3, 4}, DType::kBF16), tensor({4}), 0, x, nullptr);
    FAIL() << "a table of the wrong shape passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_STREQ(error.what(),
                 "layer_norm_modulate: scale is bf16 [3, 4] on the CPU, but must be f32 [2, 4] on "
                 "the CPU, or [4]");
  }
}

}  // namespace
}  // namespace pantograph::ops
