#include "core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace pantograph {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// IEEE 754 binary16 by its definition: sign, 5 bits of exponent, 10 of mantissa.
double f16_by_definition(std::uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((bits >> 10) & 31U);
  const double mantissa = bits & 0x3ffU;
  if (exponent == 31) return mantissa == 0 ? sign * kInfinity : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(F16, EveryValueIsItsDefinition) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const double expected = f16_by_definition(bits);
    const float value = f16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000U) != 0) << bits;
    }
  }
}

TEST(F16, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool nan = (bits & 0x7fffU) > 0x7c00U;  // comes back quiet
    ASSERT_EQ(float_to_f16(f16_to_float(half)), nan ? half | 0x200U : half) << bits;
  }
}

// Between neighbours: below the middle to the lower, above it to the upper, on it to the even one.
TEST(F16, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const double low = f16_by_definition(bits);
    const double high = bits == 0x7bffU ? 65536 : f16_by_definition(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact
    const std::uint32_t even = (bits & 1U) == 0 ? bits : bits + 1;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(float_to_f16(middle), even) << bits;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, kInfinity)), bits + 1) << bits;
    ASSERT_EQ(float_to_f16(-middle), even | 0x8000U) << bits;
  }
}

TEST(F16, BeyondItsRangeIsInfinity) {
  EXPECT_EQ(float_to_f16(65519.996F), 0x7bffU);
  EXPECT_EQ(float_to_f16(65520.0F), 0x7c00U);
  EXPECT_EQ(float_to_f16(65536.0F), 0x7c00U);
  EXPECT_EQ(float_to_f16(std::numeric_limits<float>::max()), 0x7c00U);
  EXPECT_EQ(float_to_f16(kInfinity), 0x7c00U);
  EXPECT_EQ(float_to_f16(-kInfinity), 0xfc00U);
}

TEST(F16, BelowItsRangeIsZeroWithItsSign) {
  EXPECT_EQ(float_to_f16(std::numeric_limits<float>::denorm_min()), 0U);
  EXPECT_EQ(float_to_f16(-std::numeric_limits<float>::min()), 0x8000U);
  EXPECT_EQ(float_to_f16(-0.0F), 0x8000U);
}

TEST(F16, EveryFloatNanStaysNan) {
  for (const std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U}) {
    const std::uint16_t half = float_to_f16(std::bit_cast<float>(bits));
    EXPECT_GT(half & 0x7fffU, 0x7c00U) << bits;
    EXPECT_EQ(half >> 15, bits >> 31) << bits;
  }
}

TEST(BF16, EveryValueIsTheUpperHalfOfAFloatAndSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16_to_float(half)), bits << 16);
    const bool nan = (bits & 0x7fffU) > 0x7f80U;  // comes back quiet
    ASSERT_EQ(float_to_bf16(bf16_to_float(half)), nan ? half | 0x40U : half) << bits;
  }
}

TEST(BF16, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7f80U; ++bits) {
    const std::uint32_t middle = (bits << 16) | 0x8000U;
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle - 1)), bits) << bits;
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle)), (bits & 1U) == 0 ? bits : bits + 1);
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle + 1)), bits + 1) << bits;
  }
}

TEST(BF16, NanWhosePayloadIsCutOffStaysNan) {
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x7f800001U)), 0x7fc0U);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0xffffffffU)), 0xffffU);
}

}  // namespace
}  // namespace pantograph
