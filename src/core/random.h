// Random numbers that depend on nothing but (seed, stream, index): the same on every machine, in
// any order, on any number of threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace pantograph {

class Random {
 public:
  // One stream for each thing drawn, so that adding one changes no other.
  Random(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed) ^ stream)) {}

  // 64 random bits: SplitMix64's finaliser over a counter.
  [[nodiscard]] std::uint64_t bits(std::uint64_t index) const {
    return mix(key_ + index * 0x9e3779b97f4a7c15ULL);
  }
  // In (0, 1).
  [[nodiscard]] double uniform(std::uint64_t index) const {
    return (static_cast<double>(bits(index) >> 11) + 0.5) * 0x1.0p-53;
  }
  // Standard normal, by Box and Muller.
  [[nodiscard]] double normal(std::uint64_t index) const {
    return std::sqrt(-2.0 * std::log(uniform(2 * index))) *
           std::cos(2.0 * std::numbers::pi * uniform(2 * index + 1));
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t key_;
};

}  // namespace pantograph
