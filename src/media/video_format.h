// Which containers, codecs and pixel formats go together, and which of FFmpeg's encoders make them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pantograph/video_writer.h"

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace pantograph {

struct VideoFormat {
  std::string muxer;    // FFmpeg's name of the container
  std::string encoder;  // FFmpeg's name
  AVPixelFormat pixel_format = AV_PIX_FMT_NONE;
  std::vector<std::pair<std::string, std::string>> options;  // of the encoder
  std::uint32_t tag = 0;  // what the container calls the codec; 0: its default
};

// For an output *.mp4, *.mkv or *.mov. Throws Error: kInvalidArgument for what does not go
// together, kUnsupported where the installed FFmpeg has no encoder for it.
VideoFormat choose_video_format(const std::filesystem::path& output, const VideoOptions& options);

}  // namespace pantograph
