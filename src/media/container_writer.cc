// Frames to an MP4, QuickTime or Matroska file: limited-range BT.709, and the index before the
// pictures where the container has one.

#include "core/check.h"
#include "core/log.h"
#include "core/temporary_file.h"
#include "media/ffmpeg_encoder.h"
#include "media/ffmpeg_support.h"
#include "media/frame_encoder.h"
#include "media/video_format.h"

extern "C" {
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace pantograph {
namespace {

// The next multiple of 1 << shift.
std::int64_t round_up(std::int64_t size, int shift) {
  return ((size - 1) >> shift << shift) + (std::int64_t{1} << shift);
}

struct CloseFormat {
  void operator()(AVFormatContext* context) const {
    avio_closep(&context->pb);
    avformat_free_context(context);
  }
};

class ContainerWriter final : public FrameEncoder {
 public:
  ContainerWriter(const std::filesystem::path& output, const VideoShape& shape,
                  const VideoOptions& options, const VideoFormat& format)
      : as_announced_(format.pixel_format == AV_PIX_FMT_YUV420P && shape.height % 2 == 0 &&
                      shape.width % 2 == 0),
        file_(output),
        pixels_(*av_pix_fmt_desc_get(format.pixel_format)),
        encoder_(format.encoder.c_str(), round_up(shape.height, pixels_.log2_chroma_h),
                 round_up(shape.width, pixels_.log2_chroma_w), format.pixel_format,
                 options.frames_per_second) {
    open_encoder(format);
    open_container(format);
    const AVCodecContext& context = encoder_.context();
    if (context.height != shape.height || context.width != shape.width) {
      log(LogLevel::kWarning, output.string(), " is ", context.height, " x ", context.width,
          " and not ", shape.height, " x ", shape.width, ": ", pixels_.name,
          " has even sides only, so the last row or column is repeated");
    }
  }

  void write(const RgbFrame& frame) override {
    AVFrame& picture = encoder_.picture();
    rgb_to_yuv(frame, {.height = picture.height,
                       .width = picture.width,
                       .y = {picture.data[0], picture.linesize[0]},
                       .cb = {picture.data[1], picture.linesize[1]},
                       .cr = {picture.data[2], picture.linesize[2]},
                       .halved_across = pixels_.log2_chroma_w == 1,
                       .halved_down = pixels_.log2_chroma_h == 1,
                       .depth = pixels_.comp[0].depth});
    encoder_.encode([this](AVPacket& packet) { save(packet); });
  }

  // Other pixels, and an odd side, which grows, are left to write().
  [[nodiscard]] PixelLayout layout() const override {
    return as_announced_ ? PixelLayout::kYuv420 : PixelLayout::kRgbF32;
  }
  void write_bytes(std::span<const std::uint8_t> frame) override {
    AVFrame& picture = encoder_.picture();
    const std::int64_t height = picture.height, width = picture.width;
    const std::uint8_t* next =
        copy_rows(frame.data(), height, width, {picture.data[0], picture.linesize[0]});
    next = copy_rows(next, height / 2, width / 2, {picture.data[1], picture.linesize[1]});
    copy_rows(next, height / 2, width / 2, {picture.data[2], picture.linesize[2]});
    encoder_.encode([this](AVPacket& packet) { save(packet); });
  }

  void finish() override {
    encoder_.flush([this](AVPacket& packet) { save(packet); });
    check_io(av_write_trailer(container_.get()));
    avio_flush(container_->pb);
    check_io(container_->pb->error);
    check_io(avio_closep(&container_->pb));
    file_.commit();
  }

 private:
  void open_encoder(const VideoFormat& format) {
    AVCodecContext& context = encoder_.context();
    context.color_range = AVCOL_RANGE_MPEG;
    context.color_primaries = AVCOL_PRI_BT709;
    context.color_trc = AVCOL_TRC_BT709;
    context.colorspace = AVCOL_SPC_BT709;
    if (pixels_.log2_chroma_w == 1) context.chroma_sample_location = AVCHROMA_LOC_LEFT;
    context.codec_tag = format.tag;
    context.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;  // containers keep the parameter sets in the head
    for (const auto& [name, value] : format.options) encoder_.set_option(name.c_str(), value);
    encoder_.open();
  }

  void open_container(const VideoFormat& format) {
    // "file:" keeps a name with a colon in it from being taken for a URL.
    const std::string url = "file:" + file_.path().string();
    AVFormatContext* container = nullptr;
    check_ffmpeg(
        avformat_alloc_output_context2(&container, nullptr, format.muxer.c_str(), url.c_str()),
        ErrorKind::kUnsupported, join("FFmpeg cannot write ", format.muxer, " files"));
    container_.reset(container);
    AVStream* stream = check_allocated(avformat_new_stream(container, nullptr));
    check_ffmpeg(avcodec_parameters_from_context(stream->codecpar, &encoder_.context()),
                 ErrorKind::kInternal, "FFmpeg's stream parameters");
    stream->time_base = encoder_.context().time_base;
    stream->avg_frame_rate = encoder_.context().framerate;
    if (format.muxer != "matroska") {
      check_ffmpeg(av_opt_set(container->priv_data, "movflags", "+faststart", 0),
                   ErrorKind::kInternal, "FFmpeg's option movflags=+faststart");
    }
    check_io(avio_open(&container->pb, url.c_str(), AVIO_FLAG_WRITE));
    check_io(avformat_write_header(container, nullptr));
  }

  void save(AVPacket& packet) {
    packet.duration = 1;  // of the encoder's time base: the last frame lasts as long as the others
    packet.stream_index = 0;
    av_packet_rescale_ts(&packet, encoder_.context().time_base, container_->streams[0]->time_base);
    check_io(av_interleaved_write_frame(container_.get(), &packet));
  }

  void check_io(int result) const {
    check_ffmpeg(result, ErrorKind::kIo, join("cannot write ", file_.target().string()));
  }

  bool as_announced_;  // the encoder takes yuv420p of the video's own size
  TemporaryOutput file_;
  const AVPixFmtDescriptor& pixels_;
  FfmpegEncoder encoder_;
  std::unique_ptr<AVFormatContext, CloseFormat> container_;
};

}  // namespace

std::unique_ptr<FrameEncoder> open_container(const std::filesystem::path& output,
                                             const VideoShape& shape, const VideoOptions& options) {
  return std::make_unique<ContainerWriter>(output, shape, options,
                                           choose_video_format(output, options));
}

}  // namespace pantograph
