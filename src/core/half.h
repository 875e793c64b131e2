// bf16 and f16 to f32 and back, round to nearest even; NaNs stay NaNs. Each function computes all
// its cases and selects, so that loops over it vectorise.
#pragma once

#include <bit>
#include <cstdint>

namespace pantograph {

inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const std::uint32_t quiet_nan = bits | 0x400000U;
  const bool nan = (bits & 0x7fffffffU) > (255U << 23);
  return static_cast<std::uint16_t>((nan ? quiet_nan : rounded) >> 16);
}

// f16 has 5 bits of exponent, bias 15, and 10 of mantissa; f32 has 8, bias 127, and 23.

inline float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = (bits & 0x7fffU) << 13;
  const std::uint32_t exponent = magnitude & (31U << 23);
  const std::uint32_t normal = magnitude + (112U << 23);
  const std::uint32_t special = magnitude + (224U << 23);  // infinity and NaN
  // Read with exponent 1, a subnormal is too large by 2^-14 exactly.
  const auto subnormal = std::bit_cast<std::uint32_t>(
      std::bit_cast<float>(magnitude + (113U << 23)) - std::bit_cast<float>(113U << 23));
  const std::uint32_t finite = exponent == 0 ? subnormal : normal;
  return std::bit_cast<float>(sign | (exponent == (31U << 23) ? special : finite));
}

inline std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  // In [0.5, 1) a float's last place is 2^-24, as that of f16's subnormals: the sum rounds to it.
  const auto subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                         std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
  result = magnitude >= (143U << 23) ? 0x7c00U : result;  // from 2^16 on
  result = magnitude > (255U << 23) ? nan : result;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | result);
}

}  // namespace pantograph
