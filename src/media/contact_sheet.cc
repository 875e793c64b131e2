// Up to 16 frames of a video, evenly spaced from the first to the last, in one PNG file.

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/temporary_file.h"
#include "media/ffmpeg_encoder.h"
#include "media/ffmpeg_support.h"
#include "media/frame_encoder.h"
#include "media/png_file.h"

extern "C" {
#include <libswscale/swscale.h>
}

namespace pantograph {
namespace {

constexpr std::int64_t kMostTiles = 16;
constexpr std::int64_t kLongerSide = 320;  // pixels of a tile, at most

struct Layout {
  std::int64_t tiles, columns, rows;
  std::int64_t height, width;  // of a tile
};

Layout lay_out(const VideoShape& shape) {
  Layout layout{};
  layout.tiles = std::min(kMostTiles, shape.frames);
  layout.columns = std::lround(std::ceil(std::sqrt(static_cast<double>(layout.tiles))));
  layout.rows = (layout.tiles + layout.columns - 1) / layout.columns;
  const std::int64_t longer = std::max(shape.height, shape.width);
  const auto reduced = [&](std::int64_t side) {
    return longer <= kLongerSide ? side : std::max<std::int64_t>(1, side * kLongerSide / longer);
  };
  layout.height = reduced(shape.height);
  layout.width = reduced(shape.width);
  return layout;
}

class ContactSheet final : public FrameEncoder {
 public:
  ContactSheet(const std::filesystem::path& output, const VideoShape& shape)
      : file_(output),
        shape_(shape),
        layout_(lay_out(shape)),
        encoder_("png", layout_.rows * layout_.height, layout_.columns * layout_.width,
                 AV_PIX_FMT_RGB24, 1),
        scaler_(check_allocated(sws_getContext(
            static_cast<int>(shape.width), static_cast<int>(shape.height), AV_PIX_FMT_RGB24,
            static_cast<int>(layout_.width), static_cast<int>(layout_.height), AV_PIX_FMT_RGB24,
            SWS_AREA | SWS_ACCURATE_RND, nullptr, nullptr, nullptr))),
        rgb24_(static_cast<std::size_t>(shape.height * shape.width * 3)) {
    encoder_.open();
    AVFrame& sheet = encoder_.picture();
    std::fill_n(sheet.data[0], sheet.linesize[0] * sheet.height, std::uint8_t{0});
  }

  void write(const RgbFrame& frame) override {
    if (next_tile_ < layout_.tiles && frame_ == frame_of(next_tile_)) place(frame, next_tile_++);
    ++frame_;
  }

  void finish() override {
    const auto save = [this](const AVPacket& png) { save_png(png, file_.path(), file_.target()); };
    encoder_.encode(save);
    encoder_.flush(save);
    file_.commit();
  }

 private:
  struct FreeScaler {
    void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
  };

  [[nodiscard]] std::int64_t frame_of(std::int64_t tile) const {
    return layout_.tiles == 1 ? 0 : tile * (shape_.frames - 1) / (layout_.tiles - 1);
  }

  void place(const RgbFrame& frame, std::int64_t tile) {
    const auto source_stride = static_cast<int>(shape_.width * 3);
    rgb_to_rgb24(frame, {rgb24_.data(), source_stride});
    AVFrame& sheet = encoder_.picture();
    const std::uint8_t* source = rgb24_.data();
    std::uint8_t* target = sheet.data[0] +
                           tile / layout_.columns * layout_.height * sheet.linesize[0] +
                           tile % layout_.columns * layout_.width * 3;
    sws_scale(scaler_.get(), &source, &source_stride, 0, static_cast<int>(shape_.height), &target,
              &sheet.linesize[0]);
  }

  TemporaryOutput file_;
  VideoShape shape_;
  Layout layout_;
  FfmpegEncoder encoder_;  // its picture is the sheet
  std::unique_ptr<SwsContext, FreeScaler> scaler_;
  std::vector<std::uint8_t> rgb24_;  // one frame [H, W, 3]
  std::int64_t frame_ = 0, next_tile_ = 0;
};

}  // namespace

std::unique_ptr<FrameEncoder> open_contact_sheet(const std::filesystem::path& output,
                                                 const VideoShape& shape) {
  if (output.extension() != ".png") {
    fail(ErrorKind::kInvalidArgument, "a contact sheet is a PNG file; name '", output.string(),
         "' NAME.png");
  }
  return std::make_unique<ContactSheet>(output, shape);
}

}  // namespace pantograph
