#include "core/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::expect_error;

// The same numbers as floats and as the bits of bf16 and f16, which hold them exactly.
const std::vector<float> kValues{1, -2, 0.5, 3.0, -0.0F, 96.0, -0.15625};
const std::vector<std::uint16_t> kBF16{0x3f80, 0xc000, 0x3f00, 0x4040, 0x8000, 0x42c0, 0xbe20};
const std::vector<std::uint16_t> kF16{0x3c00, 0xc000, 0x3800, 0x4200, 0x8000, 0x5600, 0xb100};

// Through addresses one byte off every element's alignment.
std::vector<float> widen_misaligned(DType dtype, const void* data, std::size_t count) {
  std::vector<std::byte> buffer(count * size_of(dtype) + 1);
  std::memcpy(buffer.data() + 1, data, buffer.size() - 1);
  std::vector<float> result(count);
  convert_to_f32(dtype, buffer.data() + 1, result.data(), static_cast<std::int64_t>(count));
  return result;
}

template <typename Element>
std::vector<Element> narrow_misaligned(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> buffer(values.size() * sizeof(Element) + 1);
  convert_from_f32(values.data(), dtype, buffer.data() + 1,
                   static_cast<std::int64_t>(values.size()));
  std::vector<Element> result(values.size());
  std::memcpy(result.data(), buffer.data() + 1, buffer.size() - 1);
  return result;
}

TEST(Convert, ToF32AtAnyByte) {
  EXPECT_EQ(widen_misaligned(DType::kF32, kValues.data(), kValues.size()), kValues);
  EXPECT_EQ(widen_misaligned(DType::kBF16, kBF16.data(), kBF16.size()), kValues);
  EXPECT_EQ(widen_misaligned(DType::kF16, kF16.data(), kF16.size()), kValues);
}

TEST(Convert, FromF32AtAnyByte) {
  EXPECT_EQ(narrow_misaligned<float>(DType::kF32, kValues), kValues);
  EXPECT_EQ(narrow_misaligned<std::uint16_t>(DType::kBF16, kValues), kBF16);
  EXPECT_EQ(narrow_misaligned<std::uint16_t>(DType::kF16, kValues), kF16);
}

TEST(Convert, RoundsToNearestEven) {
  // 1 + 2^-8 and 1 + 2^-11 lie half-way between neighbours of bf16 and f16; 1.0 is the even one.
  EXPECT_EQ(narrow_misaligned<std::uint16_t>(DType::kBF16, {1.00390625F, 1.01171875F}),
            (std::vector<std::uint16_t>{0x3f80, 0x3f82}));
  EXPECT_EQ(narrow_misaligned<std::uint16_t>(DType::kF16, {1.00048828125F, 1.00146484375F}),
            (std::vector<std::uint16_t>{0x3c00, 0x3c02}));
}

TEST(Convert, NoElementsNeedNoPointers) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    EXPECT_NO_THROW(convert_to_f32(dtype, nullptr, nullptr, 0));
    EXPECT_NO_THROW(convert_from_f32(nullptr, dtype, nullptr, 0));
  }
}

TEST(Convert, OtherTypesAreRefusedByName) {
  std::array<float, 2> floats{};
  std::array<std::int64_t, 2> wholes{};
  expect_error(ErrorKind::kInvalidArgument, {"i64", "f32, bf16 or f16"},
               [&] { convert_to_f32(DType::kI64, wholes.data(), floats.data(), 2); });
  expect_error(ErrorKind::kInvalidArgument, {"u8", "f32, bf16 or f16"},
               [&] { convert_from_f32(floats.data(), DType::kU8, wholes.data(), 2); });
}

}  // namespace
}  // namespace pantograph
