// RGB in [-1, 1] to what picture files hold: 8-bit RGB, and limited-range BT.709 luma and chroma.
#pragma once

#include <cstdint>

namespace pantograph {

// One frame [height, width, 3]. Values beyond [-1, 1] count as the nearer end, NaN as -1.
struct RgbFrame {
  const float* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

struct Plane {
  std::uint8_t* data = nullptr;
  std::int64_t stride = 0;  // bytes from one row to the next
};

// Y is [height, width]; Cb and Cr have half the columns and half the rows, rounded up, where they
// are halved: 4:2:0 in both directions, 4:2:2 across, 4:4:4 in none.
struct YuvPicture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  Plane y, cb, cr;
  bool halved_across = true;
  bool halved_down = true;
  int depth = 8;  // bits of a sample; more than 8 take two bytes each
};

// Rec. ITU-R BT.709-6, items 3.2 to 3.4 and 4.6: Y in 16..235, Cb and Cr in 16..240 (times 4 in 10
// bits), rounded to nearest. Chroma is sited as H.264 and MPEG-2 assume: on the even columns,
// between two rows. Where the target is larger than the frame, the frame's last row and column are
// repeated.
void rgb_to_yuv(const RgbFrame& frame, const YuvPicture& target);

// `rows` rows of `bytes` bytes that follow one another, into a plane. Returns what follows them.
const std::uint8_t* copy_rows(const std::uint8_t* source, std::int64_t rows, std::int64_t bytes,
                              const Plane& target);

// 8-bit RGB, -1 to 0 and 1 to 255, rounded to nearest.
void rgb_to_rgb24(const RgbFrame& frame, const Plane& target);

}  // namespace pantograph
