// Frames to a video file, a folder of pictures, a tensor file or a pipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pantograph/frame_sink.h"

namespace pantograph {

struct VideoOptions {
  int frames_per_second = 24;  // 1 to 1000
  // H.264 quality, 0 (lossless: not every player shows it) to 51; unset: 18.
  std::optional<int> crf = std::nullopt;
  DType tensor_dtype = DType::kF32;  // f32 or bf16, for .safetensors
};

// What will be written, known before the first frame. Sides are 1 to 16384.
struct VideoShape {
  std::int64_t frames = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// Chooses the writer from `output`:
//   *.mp4          H.264 (libx264, else libopenh264), limited-range yuv420p, bt709, index first;
//                  H.264 in 4:2:0 has even sides only: an odd one grows by repeating the last row
//                  or column
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
std::unique_ptr<FrameSink> open_video_writer(const std::filesystem::path& output,
                                             const VideoShape& shape,
                                             const VideoOptions& options = {});

// The encoders this build can use, for `pantograph info`: "h264 (libx264, FFmpeg 5.1)", ...
std::vector<std::string> video_codecs();

}  // namespace pantograph
