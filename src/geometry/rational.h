// Exact fractions, for coefficients that are derived while compiling. An overflow is undefined,
// which a constant expression does not compile.
#pragma once

#include <cstdint>
#include <numeric>

namespace pantograph::geometry {

struct Rational {
  std::int64_t numerator = 0, denominator = 1;  // without a common factor; the second above 0

  constexpr Rational() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): integers are fractions
  constexpr Rational(std::int64_t above, std::int64_t below = 1) {
    const std::int64_t divisor = std::gcd(above, below);
    const std::int64_t sign = below < 0 ? -1 : 1;
    numerator = sign * above / divisor;
    denominator = sign * below / divisor;
  }

  friend constexpr bool operator==(const Rational&, const Rational&) = default;
  friend constexpr bool operator<(const Rational& a, const Rational& b) {
    return a.numerator * b.denominator < b.numerator * a.denominator;
  }
  constexpr Rational operator-() const { return {-numerator, denominator}; }
  friend constexpr Rational operator+(const Rational& a, const Rational& b) {
    return {a.numerator * b.denominator + b.numerator * a.denominator,
            a.denominator * b.denominator};
  }
  friend constexpr Rational operator-(const Rational& a, const Rational& b) { return a + -b; }
  friend constexpr Rational operator*(const Rational& a, const Rational& b) {
    return {a.numerator * b.numerator, a.denominator * b.denominator};
  }
  friend constexpr Rational operator/(const Rational& a, const Rational& b) {
    return {a.numerator * b.denominator, a.denominator * b.numerator};
  }

  [[nodiscard]] constexpr float to_float() const {
    return static_cast<float>(static_cast<double>(numerator) / static_cast<double>(denominator));
  }
};

}  // namespace pantograph::geometry
