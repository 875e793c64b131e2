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
  int frames_per_second = 24;
  std::optional<int> crf;            // H.264 quality, 0 (lossless) to 51; unset: 18
  DType tensor_dtype = DType::kF32;  // f32 or bf16, for .safetensors
};

// What will be written, known before the first frame.
struct VideoShape {
  std::int64_t frames = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// Chooses the writer from `output`: "*.mp4" H.264, limited-range yuv420p, bt709, index first;
// "*.safetensors" one tensor "video" [frames, 3, H, W]; "-" YUV4MPEG2 on standard output; a name without an
// extension, or an existing folder: a folder of PNG files named frame_000000.png.
// Everything is written under a temporary name beside `output` and renamed by finish().
// Throws Error: kInvalidArgument for an unknown extension or option out of range, kIo where the
// place is not writable, kUnsupported where this build has no encoder for it.
std::unique_ptr<FrameSink> open_video_writer(const std::filesystem::path& output,
                                             const VideoShape& shape,
                                             const VideoOptions& options = {});

// The encoders this build can use, for `pantograph info`: "h264 (libx264, FFmpeg 5.1)", ...
std::vector<std::string> video_codecs();

}  // namespace pantograph
