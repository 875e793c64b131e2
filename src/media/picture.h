// Pictures of 8 bits a channel, and how a first frame is made of one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace pantograph {

struct Picture {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;  // [height, width, 3]
};

// Larger sides and more pixels are refused from the header, before anything is decoded.
inline constexpr std::int64_t kMaxPictureSide = 32768;
inline constexpr std::int64_t kMaxPicturePixels = std::int64_t{1} << 27;

// The pictures of a video file, or the one of an image file (PNG, JPEG, WebP, ...), by FFmpeg.
// Alpha is dropped; an EXIF orientation is applied; a video's own matrix and range are honoured.
class PictureReader {
 public:
  // Throws Error, as next() does: kNotFound, kFormat (no picture in it), kInvalidArgument (too
  // large), kUnsupported where this build has no FFmpeg. `path` is a file, never a URL.
  static PictureReader open(const std::filesystem::path& path);
  PictureReader(PictureReader&&) noexcept;
  PictureReader& operator=(PictureReader&&) noexcept;
  ~PictureReader();

  // False after the last one. All pictures of a file have one size.
  bool next(Picture& picture);

 private:
  struct Impl;
  explicit PictureReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// `picture` turned and mirrored upright, as an EXIF orientation (1 to 8) says it was taken.
Picture oriented(Picture picture, int exif_orientation);

// Resized with a Lanczos window of 3 in fixed point, rows then columns rounded to 8 bits, as Pillow
// does.
Picture lanczos_resized(const Picture& picture, std::int64_t height, std::int64_t width);

// The smallest size of the picture's shape that covers height x width, then its centre, cut at
// round((size - target) / 2), halves to even. Throws Error(kInvalidArgument) for a strip that would
// grow beyond kMaxPicturePixels.
Picture covering(const Picture& picture, std::int64_t height, std::int64_t width);

// [H, W, 3] in [-1, 1]: v / 127.5 - 1.
std::vector<float> to_float(const Picture& picture);

}  // namespace pantograph
