#include "media/picture.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace pantograph {

Picture oriented(Picture picture, int exif_orientation) {
  if (exif_orientation <= 1 || exif_orientation > 8) return picture;
  const bool turned = exif_orientation >= 5;  // rows and columns change places
  const bool from_right = exif_orientation == 2 || exif_orientation == 3 || exif_orientation == 7 ||
                          exif_orientation == 8;
  const bool from_bottom = exif_orientation == 3 || exif_orientation == 4 ||
                           exif_orientation == 6 || exif_orientation == 7;
  Picture upright{.height = turned ? picture.width : picture.height,
                  .width = turned ? picture.height : picture.width,
                  .rgb = std::vector<std::uint8_t>(picture.rgb.size())};
  auto target = upright.rgb.begin();
  for (std::int64_t y = 0; y < upright.height; ++y) {
    for (std::int64_t x = 0; x < upright.width; ++x, target += 3) {
      std::int64_t row = turned ? x : y, column = turned ? y : x;
      if (from_bottom) row = picture.height - 1 - row;
      if (from_right) column = picture.width - 1 - column;
      std::copy_n(picture.rgb.begin() + (row * picture.width + column) * 3, 3, target);
    }
  }
  return upright;
}

Picture covering(const Picture& picture, std::int64_t height, std::int64_t width) {
  const double scale = std::max(static_cast<double>(height) / static_cast<double>(picture.height),
                                static_cast<double>(width) / static_cast<double>(picture.width));
  // nearbyint rounds halves to even, as Python's round does.
  const auto scaled = [&](std::int64_t size, std::int64_t least) {
    return std::max(least,
                    static_cast<std::int64_t>(std::nearbyint(static_cast<double>(size) * scale)));
  };
  const std::int64_t rows = scaled(picture.height, height), columns = scaled(picture.width, width);
  // A strip would grow without bounds; the sizes of both are bounded, so the product cannot
  // overflow.
  if (rows * columns > kMaxPicturePixels) {
    fail(ErrorKind::kInvalidArgument, "a picture of ", picture.width, " x ", picture.height,
         " would grow to ", columns, " x ", rows, " to cover ", width, " x ", height,
         "; crop it nearer to that shape");
  }
  const Picture resized = lanczos_resized(picture, rows, columns);
  const auto margin = [](std::int64_t size, std::int64_t target) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(size - target) / 2));
  };
  const std::int64_t top = margin(resized.height, height), left = margin(resized.width, width);
  Picture cut{.height = height, .width = width, .rgb = {}};
  cut.rgb.reserve(static_cast<std::size_t>(height * width * 3));
  for (std::int64_t y = 0; y < height; ++y) {
    const auto row = resized.rgb.begin() + ((top + y) * resized.width + left) * 3;
    cut.rgb.insert(cut.rgb.end(), row, row + width * 3);
  }
  return cut;
}

std::vector<float> to_float(const Picture& picture) {
  std::vector<float> values(picture.rgb.size());
  std::transform(picture.rgb.begin(), picture.rgb.end(), values.begin(),
                 [](std::uint8_t value) { return static_cast<float>(value) / 127.5F - 1.0F; });
  return values;
}

}  // namespace pantograph
