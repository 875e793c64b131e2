// Stands in for what reads and writes through FFmpeg in a build without it.

#include "core/check.h"
#include "media/frame_encoder.h"
#include "media/picture.h"

namespace pantograph {
namespace {

[[noreturn]] void fail_without_ffmpeg(const char* what) {
  fail(ErrorKind::kUnsupported, "this build has no FFmpeg and cannot ", what,
       "; install libavformat-dev, libavcodec-dev, libswscale-dev and libavutil-dev (Debian, "
       "Ubuntu) and build again, or write .safetensors or YUV4MPEG2 (-)");
}

}  // namespace

std::unique_ptr<FrameEncoder> open_container(const std::filesystem::path&, const VideoShape&,
                                             const VideoOptions&) {
  fail_without_ffmpeg("write video files");
}

std::unique_ptr<FrameEncoder> open_contact_sheet(const std::filesystem::path&, const VideoShape&) {
  fail_without_ffmpeg("write PNG files");
}

std::unique_ptr<FrameEncoder> open_png_folder(const std::filesystem::path&, const VideoShape&) {
  fail_without_ffmpeg("write PNG files");
}

struct PictureReader::Impl {};
PictureReader PictureReader::open(const std::filesystem::path&) {
  fail_without_ffmpeg("read pictures");
}
PictureReader::PictureReader(PictureReader&&) noexcept = default;
PictureReader& PictureReader::operator=(PictureReader&&) noexcept = default;
PictureReader::~PictureReader() = default;
bool PictureReader::next(Picture&) {
  return false;
}

std::vector<std::string> video_codecs() {
  return {};
}

}  // namespace pantograph
