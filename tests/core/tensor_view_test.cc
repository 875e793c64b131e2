#include "pantograph/tensor_view.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::expect_error;

TEST(TensorView, DenseIsRowMajor) {
  std::array<float, 24> data{};
  const TensorView view = TensorView::dense(data.data(), DType::kF32, {2, 3, 4});
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.strides[0], 12);
  EXPECT_EQ(view.strides[1], 4);
  EXPECT_EQ(view.strides[2], 1);
  EXPECT_EQ(view.elements(), 24);
  EXPECT_EQ(view.bytes(), 96U);
  EXPECT_TRUE(view.is_dense());
}

TEST(TensorView, ASliceKeepsStridesAndMovesThePointer) {
  std::array<std::uint16_t, 24> data{};
  const TensorView view = TensorView::dense(data.data(), DType::kBF16, {2, 3, 4});
  const TensorView slice = view.slice(1, 1, 2);
  EXPECT_EQ(slice.data, data.data() + 4);
  EXPECT_EQ(slice.shape[1], 2);
  EXPECT_EQ(slice.elements(), 16);
  EXPECT_FALSE(slice.is_dense());
  EXPECT_TRUE(view.slice(0, 1, 1).is_dense());
  EXPECT_EQ(view.slice(1, 3, 0).elements(), 0);
}

TEST(TensorView, EmptyAndScalar) {
  EXPECT_EQ(TensorView::dense(nullptr, DType::kI64, {3, 0, 5}).bytes(), 0U);
  EXPECT_EQ(TensorView::dense(nullptr, DType::kI64, {}).bytes(), 8U);
}

TEST(TensorView, ImpossibleShapesAreRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const auto refused = [](std::vector<std::int64_t> shape, const char* says) {
    expect_error(ErrorKind::kInvalidArgument, {says},
                 [&] { TensorView::dense(nullptr, DType::kF32, shape); });
  };
  refused({2, -1}, "dimension 1 has the size -1");
  refused({1, 1, 1, 1, 1, 1, 1, 1, 1}, "9 dimensions");
  refused({kHuge}, "more than 2^63 bytes");
  refused({kHuge, 0, kHuge}, "more than 2^63 bytes");
}

TEST(TensorView, SlicesOutsideAreRefused) {
  const TensorView view = TensorView::dense(nullptr, DType::kU8, {4});
  expect_error(ErrorKind::kInvalidArgument, {"[3, 5) of dimension 0"},
               [&] { return view.slice(0, 3, 2); });
  expect_error(ErrorKind::kInvalidArgument, {"dimension 1"}, [&] { return view.slice(1, 0, 1); });
  expect_error(ErrorKind::kInvalidArgument, {"[-1, 1)"}, [&] { return view.slice(0, -1, 2); });
}

TEST(DType, SizesInBytes) {
  EXPECT_EQ(size_of(DType::kF64), 8U);
  EXPECT_EQ(size_of(DType::kI64), 8U);
  EXPECT_EQ(size_of(DType::kF32), 4U);
  EXPECT_EQ(size_of(DType::kI32), 4U);
  EXPECT_EQ(size_of(DType::kBF16), 2U);
  EXPECT_EQ(size_of(DType::kF16), 2U);
  EXPECT_EQ(size_of(DType::kI16), 2U);
  EXPECT_EQ(size_of(DType::kI8), 1U);
  EXPECT_EQ(size_of(DType::kU8), 1U);
  EXPECT_EQ(size_of(DType::kBool), 1U);
}

}  // namespace
}  // namespace pantograph
