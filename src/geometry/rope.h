// Rotary positions of video tokens on three axes.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace pantograph::geometry {

// A head's channels, in neighbouring pairs, are shared out to the axes t, y and x one after the
// other. Pair j of an axis of d channels turns by position / theta^(2 j / d).
struct Rope {
  std::array<std::int64_t, 3> axis_channels{};
  double theta = 0;
  double temporal_scale = 1;  // a step on the axis t, in positions

  [[nodiscard]] constexpr std::int64_t pairs() const {
    return (axis_channels[0] + axis_channels[1] + axis_channels[2]) / 2;
  }

  // Angle of pair `pair` of a head at (t, y, x) of the grid of tokens.
  [[nodiscard]] double angle(std::int64_t t, std::int64_t y, std::int64_t x,
                             std::int64_t pair) const {
    const std::array<double, 3> position = {static_cast<double>(t) * temporal_scale,
                                            static_cast<double>(y), static_cast<double>(x)};
    std::size_t axis = 0;
    for (; pair >= axis_channels[axis] / 2; ++axis) pair -= axis_channels[axis] / 2;
    return position[axis] / std::pow(theta, 2.0 * static_cast<double>(pair) /
                                                static_cast<double>(axis_channels[axis]));
  }
};

// cos and sin [grid_t * grid_height * grid_width, pairs], tokens in the order (t, y, x).
inline void fill_rope_tables(const Rope& rope, std::int64_t grid_t, std::int64_t grid_height,
                             std::int64_t grid_width, float* cos, float* sin) {
  for (std::int64_t t = 0; t < grid_t; ++t) {
    for (std::int64_t y = 0; y < grid_height; ++y) {
      for (std::int64_t x = 0; x < grid_width; ++x) {
        for (std::int64_t pair = 0; pair < rope.pairs(); ++pair) {
          const double angle = rope.angle(t, y, x, pair);
          *cos++ = static_cast<float>(std::cos(angle));
          *sin++ = static_cast<float>(std::sin(angle));
        }
      }
    }
  }
}

}  // namespace pantograph::geometry
