// Frames to a folder of 8-bit RGB PNG files, frame_000000.png and on.

#include <array>
#include <cstdio>

#include "core/check.h"
#include "core/temporary_file.h"
#include "media/ffmpeg_encoder.h"
#include "media/frame_encoder.h"
#include "media/png_file.h"

namespace pantograph {
namespace {

class PngWriter final : public FrameEncoder {
 public:
  PngWriter(const std::filesystem::path& output, const VideoShape& shape)
      : folder_(output), encoder_("png", shape.height, shape.width, AV_PIX_FMT_RGB24, 1) {
    encoder_.set_option("pred", "mixed");  // a filter chosen row by row: smaller files
    encoder_.open();
    std::error_code error;
    // Old pictures among the new ones would look like frames of this video.
    if (std::filesystem::exists(output, error) && !std::filesystem::is_empty(output, error)) {
      fail(ErrorKind::kInvalidArgument, "the folder ", output.string(),
           " is not empty; name a new or an empty one");
    }
    std::filesystem::create_directory(folder_.path(), error);
    if (error) {
      fail(ErrorKind::kIo, "cannot make the folder ", output.string(), ": ", error.message());
    }
  }

  void write(const RgbFrame& frame) override {
    AVFrame& picture = encoder_.picture();
    rgb_to_rgb24(frame, {picture.data[0], picture.linesize[0]});
    encoder_.encode([this](const AVPacket& png) { save(png); });
  }

  [[nodiscard]] PixelLayout layout() const override { return PixelLayout::kRgb24; }
  void write_bytes(std::span<const std::uint8_t> frame) override {
    AVFrame& picture = encoder_.picture();
    copy_rows(frame.data(), picture.height, 3 * std::int64_t{picture.width},
              {picture.data[0], picture.linesize[0]});
    encoder_.encode([this](const AVPacket& png) { save(png); });
  }

  void finish() override {
    encoder_.flush([this](const AVPacket& png) { save(png); });
    folder_.commit();
  }

 private:
  void save(const AVPacket& png) {
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "frame_%06lld.png", static_cast<long long>(saved_++));
    save_png(png, folder_.path() / name.data(), folder_.target() / name.data());
  }

  TemporaryOutput folder_;
  FfmpegEncoder encoder_;
  std::int64_t saved_ = 0;
};

}  // namespace

std::unique_ptr<FrameEncoder> open_png_folder(const std::filesystem::path& output,
                                              const VideoShape& shape) {
  return std::make_unique<PngWriter>(output, shape);
}

}  // namespace pantograph
