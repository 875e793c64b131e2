// What a file format does with the frames, one after the other, and the formats there are.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "media/color.h"
#include "pantograph/video_writer.h"

namespace pantograph {

// Gets `VideoShape::frames` frames of the shape it was opened with, then finish(): the writer in
// front of it (video_writer.cc) checks that. Destroyed before finish() it leaves nothing behind.
class FrameEncoder {
 public:
  FrameEncoder() = default;
  FrameEncoder(const FrameEncoder&) = delete;
  FrameEncoder& operator=(const FrameEncoder&) = delete;
  virtual ~FrameEncoder() = default;

  virtual void write(const RgbFrame& frame) = 0;
  // A frame in the encoder's own layout, as bytes without gaps; only where that is not kRgbF32.
  [[nodiscard]] virtual PixelLayout layout() const { return PixelLayout::kRgbF32; }
  virtual void write_bytes(std::span<const std::uint8_t> /*frame*/) {}
  virtual void finish() = 0;
};

// Each throws Error: kIo where the place is not writable, kUnsupported where this build cannot.
// *.mp4, *.mkv or *.mov.
std::unique_ptr<FrameEncoder> open_container(const std::filesystem::path& output,
                                             const VideoShape& shape, const VideoOptions& options);
std::unique_ptr<FrameEncoder> open_png_folder(const std::filesystem::path& output,
                                              const VideoShape& shape);
std::unique_ptr<FrameEncoder> open_tensor_file(const std::filesystem::path& output,
                                               const VideoShape& shape, DType dtype);
// A PNG file.
std::unique_ptr<FrameEncoder> open_contact_sheet(const std::filesystem::path& output,
                                                 const VideoShape& shape);
// Writes to a file descriptor, which stays the caller's.
std::unique_ptr<FrameEncoder> open_y4m(int descriptor, const VideoShape& shape,
                                       int frames_per_second);

}  // namespace pantograph
