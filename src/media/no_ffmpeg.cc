// Stands in for mp4_writer.cc and png_writer.cc in a build without FFmpeg.

#include "core/check.h"
#include "media/frame_encoder.h"

namespace pantograph {
namespace {

[[noreturn]] void fail_without_ffmpeg(const char* format) {
  fail(ErrorKind::kUnsupported, "this build has no FFmpeg and cannot write ", format,
       "; install libavformat-dev, libavcodec-dev, libswscale-dev and libavutil-dev (Debian, "
       "Ubuntu) and build again, or write .safetensors or YUV4MPEG2 (-)");
}

}  // namespace

std::unique_ptr<FrameEncoder> open_mp4(const std::filesystem::path&, const VideoShape&,
                                       const VideoOptions&) {
  fail_without_ffmpeg("MP4 files");
}

std::unique_ptr<FrameEncoder> open_png_folder(const std::filesystem::path&, const VideoShape&) {
  fail_without_ffmpeg("PNG files");
}

std::vector<std::string> video_codecs() {
  return {};
}

}  // namespace pantograph
