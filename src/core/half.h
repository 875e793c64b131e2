// bf16 and f16 to f32 and back, round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace pantograph {

inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float value);

}  // namespace pantograph
