// Frames to a video file, a folder of pictures, a tensor file or a pipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pantograph/export.h"
#include "pantograph/frame_sink.h"

namespace pantograph {

enum class VideoCodec : std::uint8_t { kH264, kHevc, kFfv1, kProRes };
enum class PixelFormat : std::uint8_t { kYuv420p, kYuv444p, kYuv420p10 };

struct VideoOptions {
  int frames_per_second = 24;  // 1 to 1000

  // For .mp4, .mkv and .mov; refused with other outputs.
  std::optional<VideoCodec> codec = std::nullopt;          // unset: H.264
  std::optional<PixelFormat> pixel_format = std::nullopt;  // unset: yuv420p; ProRes has its own
  // H.264 and HEVC: quality, 0 (lossless in 8 bits: not every player shows it) to 51, unset: 18;
  // and the encoder's effort, "ultrafast" to "placebo", unset: "medium".
  std::optional<int> crf = std::nullopt;
  std::optional<std::string> preset = std::nullopt;

  // NAME.png: a picture of up to 16 of the frames, evenly spaced; empty: none.
  std::filesystem::path contact_sheet = {};

  DType tensor_dtype = DType::kF32;  // f32 or bf16, for .safetensors
};

// What will be written, known before the first frame. Sides are 1 to 16384.
struct VideoShape {
  std::int64_t frames = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// Chooses the writer from `output`:
//   *.mp4          H.264 (libx264, else libopenh264) or HEVC (libx265), index first
//   *.mov          H.264, HEVC or ProRes 422 HQ (10 bits), index first
//   *.mkv          H.264, HEVC, ProRes or FFV1 (lossless)
//                  all limited-range and bt709; 4:2:0 and 4:2:2 have even sides only: an odd one
//                  grows by repeating the last row or column
//   *.safetensors  one tensor "video" [frames, 3, H, W], values as they come
//   -              YUV4MPEG2 on standard output, limited-range bt709 C420mpeg2
//   a name without an extension, or an existing folder, which must be empty:
//                  8-bit RGB PNG files named frame_000000.png
// Values beyond [-1, 1] count as the nearer end in pictures, NaN as -1. Except for "-", everything
// is written under a temporary name beside `output` and renamed by finish(), which throws
// kInvalidArgument unless exactly `shape.frames` frames were written.
// Throws Error: kInvalidArgument for an unknown extension or option out of range, kNotFound where
// the output's folder is not there, kIo where it is not writable, kUnsupported where this build has
// no encoder for it. write() and finish() throw kIo when the disk is full or the reader of a pipe
// is gone.
PANTOGRAPH_EXPORT std::unique_ptr<FrameSink> open_video_writer(const std::filesystem::path& output,
                                                               const VideoShape& shape,
                                                               const VideoOptions& options = {});

// The encoders this build can use, for `pantograph info`: "h264 (libx264, FFmpeg 5.1)", ...
PANTOGRAPH_EXPORT std::vector<std::string> video_codecs();

}  // namespace pantograph
