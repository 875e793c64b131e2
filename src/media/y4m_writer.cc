// Frames to a YUV4MPEG2 stream: a text line, then per frame "FRAME\n" and the planes Y, Cb, Cr.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "core/check.h"
#include "media/frame_encoder.h"

namespace pantograph {
namespace {

constexpr std::string_view kFrameHeader = "FRAME\n";

// While one lives, writing to a pipe that nobody reads fails with EPIPE and does not end the
// process.
class IgnoreSigpipe {
 public:
  IgnoreSigpipe() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &previous_);
  }
  ~IgnoreSigpipe() { ::sigaction(SIGPIPE, &previous_, nullptr); }
  IgnoreSigpipe(const IgnoreSigpipe&) = delete;
  IgnoreSigpipe& operator=(const IgnoreSigpipe&) = delete;

 private:
  struct sigaction previous_ = {};
};

class Y4mWriter final : public FrameEncoder {
 public:
  Y4mWriter(int descriptor, const VideoShape& shape, int frames_per_second)
      : descriptor_(descriptor) {
    const std::int64_t luma = shape.height * shape.width;
    const std::int64_t chroma_width = (shape.width + 1) / 2;
    const std::int64_t chroma = (shape.height + 1) / 2 * chroma_width;
    frame_.resize(kFrameHeader.size() + static_cast<std::size_t>(luma + 2 * chroma));
    std::uint8_t* y = std::copy(kFrameHeader.begin(), kFrameHeader.end(), frame_.data());
    picture_ = {.height = shape.height,
                .width = shape.width,
                .y = {y, shape.width},
                .cb = {y + luma, chroma_width},
                .cr = {y + luma + chroma, chroma_width}};
    // The format has no field for the matrix; players take BT.709 for HD, and its other
    // parameters are said here.
    const std::string header =
        join("YUV4MPEG2 W", shape.width, " H", shape.height, " F", frames_per_second,
             ":1 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED\n");
    write_all(header.data(), header.size());
  }

  void write(const RgbFrame& frame) override {
    rgb_to_yuv(frame, picture_);
    write_all(frame_.data(), frame_.size());
  }

  [[nodiscard]] PixelLayout layout() const override { return PixelLayout::kYuv420; }
  void write_bytes(std::span<const std::uint8_t> frame) override {
    std::copy(frame.begin(), frame.end(), picture_.y.data);  // the planes follow one another
    write_all(frame_.data(), frame_.size());
  }

  void finish() override {}

 private:
  void write_all(const void* bytes, std::size_t count) {
    const auto* next = static_cast<const std::byte*>(bytes);
    while (count > 0) {
      const ::ssize_t written = ::write(descriptor_, next, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        fail(ErrorKind::kIo, "cannot write the YUV4MPEG2 stream to standard output: ",
             errno == EPIPE ? "its reader is gone" : std::generic_category().message(errno));
      }
      next += written;
      count -= static_cast<std::size_t>(written);
    }
  }

  IgnoreSigpipe ignore_sigpipe_;
  int descriptor_;
  std::vector<std::uint8_t> frame_;  // header and planes of one frame
  YuvPicture picture_;               // where the planes lie in frame_
};

}  // namespace

std::unique_ptr<FrameEncoder> open_y4m(int descriptor, const VideoShape& shape,
                                       int frames_per_second) {
  return std::make_unique<Y4mWriter>(descriptor, shape, frames_per_second);
}

}  // namespace pantograph
