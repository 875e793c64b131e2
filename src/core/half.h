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
  const std::uint32_t exponent = magnitude >> 23;
  // Read with exponent 1, a subnormal is too large by 2^-14 exactly.
  const std::uint32_t rebias = exponent == 0 ? 113U : exponent == 31 ? 224U : 112U;
  const std::uint32_t excess = exponent == 0 ? 113U << 23 : 0;
  const float value =
      std::bit_cast<float>(magnitude + (rebias << 23)) - std::bit_cast<float>(excess);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

inline std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // In [0.5, 1) a float's last place is 2^-24, as that of f16's subnormals: the sum rounds to it.
  const bool subnormal = magnitude < (113U << 23);
  const std::uint32_t half = 126U << 23;
  const auto sum = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) +
                                                std::bit_cast<float>(subnormal ? half : 0U));
  const std::uint32_t rounded = (sum - (112U << 23) + 0xfffU + ((sum >> 13) & 1U)) >> 13;
  const std::uint32_t quiet_nan = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  std::uint32_t result = subnormal ? sum - half : rounded;
  result = magnitude >= (143U << 23) ? 0x7c00U : result;  // infinity, from 2^16 on
  result = magnitude > (255U << 23) ? quiet_nan : result;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | result);
}

}  // namespace pantograph
