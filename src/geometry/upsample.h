// Where the enlarged frames of the decoder come from.
#pragma once

#include <cstdint>

namespace pantograph::geometry {

// The shortcut around a resampler: y [F, 2 H, 2 W, out] from x [T, H, W, in].
struct DuplicateUpsample {
  std::int64_t frames = 0, height = 0, width = 0, in_channels = 0;  // of x
  std::int64_t out_channels = 0;
  std::int64_t temporal_factor = 1;
  std::int64_t skipped = 0;  // enlarged frames left out at the front

  [[nodiscard]] constexpr std::int64_t out_frames() const {
    return temporal_factor * frames - skipped;
  }
  [[nodiscard]] constexpr std::int64_t repeats() const {
    return out_channels * temporal_factor * 4 / in_channels;
  }
  // Copy in time of an output frame, and the frame it is a copy of.
  [[nodiscard]] constexpr std::int64_t copy(std::int64_t out_frame) const {
    return (out_frame + skipped) % temporal_factor;
  }
  [[nodiscard]] constexpr std::int64_t frame(std::int64_t out_frame) const {
    return (out_frame + skipped) / temporal_factor;
  }
  [[nodiscard]] constexpr std::int64_t channel(std::int64_t out_frame, std::int64_t row,
                                               std::int64_t column, std::int64_t c) const {
    return (4 * (temporal_factor * c + copy(out_frame)) + 2 * (row % 2) + column % 2) / repeats();
  }
};

}  // namespace pantograph::geometry
