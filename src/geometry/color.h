// Rec. ITU-R BT.709-6, items 3.2 to 3.4 and 4.6, in the same operations on a CPU and a GPU, so that
// both give the same bytes: compile without contraction into fused multiply-adds.
#pragma once

#include <cstdint>

namespace pantograph::geometry {

// Weights of R, G and B in luma, and the spans of limited range.
inline constexpr float kRed = 0.2126F, kGreen = 0.7152F, kBlue = 0.0722F;
inline constexpr float kLumaSpan = 219, kChromaSpan = 224;

struct Rgb {
  float r = 0, g = 0, b = 0;  // in [0, 1]
};

// [-1, 1] to [0, 1]. Every comparison with NaN is false, so that NaN becomes 0.
constexpr float to_unit(float value) {
  const float bounded = value > -1 ? (value < 1 ? value : 1) : -1;
  return (bounded + 1) * 0.5F;
}

constexpr std::uint8_t round_to_byte(float value) {
  return static_cast<std::uint8_t>(value + 0.5F);
}

constexpr float luma(const Rgb& p) {
  return kRed * p.r + kGreen * p.g + kBlue * p.b;
}

constexpr std::uint8_t luma_byte(const Rgb& p) {
  return round_to_byte(16 + kLumaSpan * luma(p));
}

// Weight of the pixel dx columns beside a chroma sample, which lies on an even luma column and
// between two luma rows: 1 2 1 across, 1 1 down.
constexpr float chroma_weight(int dx) {
  return dx == 0 ? 0.25F : 0.125F;
}

constexpr std::uint8_t cb_byte(const Rgb& mean) {
  return round_to_byte(128 + kChromaSpan * ((mean.b - luma(mean)) / (2 * (1 - kBlue))));
}

constexpr std::uint8_t cr_byte(const Rgb& mean) {
  return round_to_byte(128 + kChromaSpan * ((mean.r - luma(mean)) / (2 * (1 - kRed))));
}

constexpr std::uint8_t rgb_byte(float value) {
  return round_to_byte(255 * to_unit(value));
}

}  // namespace pantograph::geometry
