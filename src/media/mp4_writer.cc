// Frames to an MP4 file that browsers and QuickTime play: H.264, limited-range BT.709 yuv420p, the
// index before the pictures.

#include <string_view>

#include "core/check.h"
#include "core/log.h"
#include "core/temporary_file.h"
#include "media/ffmpeg_encoder.h"
#include "media/frame_encoder.h"

extern "C" {
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
}

namespace pantograph {
namespace {

constexpr int kDefaultCrf = 18;

// The first H.264 encoder this FFmpeg has; null where there is none.
const char* h264_encoder() {
  for (const char* name : {"libx264", "libopenh264"}) {
    if (avcodec_find_encoder_by_name(name) != nullptr) return name;
  }
  return nullptr;
}

const char* require_h264_encoder() {
  const char* name = h264_encoder();
  if (name == nullptr) {
    fail(ErrorKind::kUnsupported, "FFmpeg ", av_version_info(),
         " has neither libx264 nor libopenh264; install an FFmpeg built with one of them, or write "
         "PNG files, .safetensors or YUV4MPEG2 (-)");
  }
  return name;
}

std::int64_t next_even(std::int64_t size) {
  return size + size % 2;
}

struct CloseFormat {
  void operator()(AVFormatContext* context) const {
    avio_closep(&context->pb);
    avformat_free_context(context);
  }
};

class Mp4Writer final : public FrameEncoder {
 public:
  Mp4Writer(const std::filesystem::path& output, const VideoShape& shape,
            const VideoOptions& options)
      : even_(shape.height % 2 == 0 && shape.width % 2 == 0),
        file_(output),
        encoder_(require_h264_encoder(), next_even(shape.height), next_even(shape.width),
                 AV_PIX_FMT_YUV420P, options.frames_per_second) {
    if (!even_) {
      log(LogLevel::kWarning, output.string(), " is ", next_even(shape.height), " x ",
          next_even(shape.width), " and not ", shape.height, " x ", shape.width,
          ": H.264 has even sides only, so the last row or column is repeated");
    }
    open_encoder(options.crf.value_or(kDefaultCrf));
    open_container();
  }

  void write(const RgbFrame& frame) override {
    AVFrame& picture = encoder_.picture();
    rgb_to_yuv420(frame, {.height = picture.height,
                          .width = picture.width,
                          .y = {picture.data[0], picture.linesize[0]},
                          .cb = {picture.data[1], picture.linesize[1]},
                          .cr = {picture.data[2], picture.linesize[2]}});
    encoder_.encode([this](AVPacket& packet) { save(packet); });
  }

  // An odd side grows, which is left to write().
  [[nodiscard]] PixelLayout layout() const override {
    return even_ ? PixelLayout::kYuv420 : PixelLayout::kRgbF32;
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
  void open_encoder(int crf) {
    AVCodecContext& context = encoder_.context();
    context.color_range = AVCOL_RANGE_MPEG;
    context.color_primaries = AVCOL_PRI_BT709;
    context.color_trc = AVCOL_TRC_BT709;
    context.colorspace = AVCOL_SPC_BT709;
    context.chroma_sample_location = AVCHROMA_LOC_LEFT;
    context.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;  // MP4 keeps the parameter sets in its index
    if (std::string_view(context.codec->name) == "libx264") {
      encoder_.set_option("preset", "medium");
      encoder_.set_option("crf", std::to_string(crf));
    } else {  // libopenh264 knows no crf: a fixed quantizer is the nearest to it
      log(LogLevel::kWarning, "FFmpeg ", av_version_info(),
          " has no libx264: ", file_.target().string(), " is encoded by ", context.codec->name);
      encoder_.set_option("qmin", std::to_string(crf));
      encoder_.set_option("qmax", std::to_string(crf));
    }
    encoder_.open();
  }

  void open_container() {
    // "file:" keeps a name with a colon in it from being taken for a URL.
    const std::string url = "file:" + file_.path().string();
    AVFormatContext* container = nullptr;
    check_ffmpeg(avformat_alloc_output_context2(&container, nullptr, "mp4", url.c_str()),
                 ErrorKind::kUnsupported, "FFmpeg cannot write MP4 files");
    container_.reset(container);
    AVStream* stream = avformat_new_stream(container, nullptr);
    if (stream == nullptr) fail(ErrorKind::kOutOfMemory, "no memory for FFmpeg's MP4 stream");
    check_ffmpeg(avcodec_parameters_from_context(stream->codecpar, &encoder_.context()),
                 ErrorKind::kInternal, "FFmpeg's stream parameters");
    stream->time_base = encoder_.context().time_base;
    stream->avg_frame_rate = encoder_.context().framerate;
    check_ffmpeg(av_opt_set(container->priv_data, "movflags", "+faststart", 0),
                 ErrorKind::kInternal, "FFmpeg's MP4 option movflags=+faststart");
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

  bool even_;
  TemporaryOutput file_;
  FfmpegEncoder encoder_;
  std::unique_ptr<AVFormatContext, CloseFormat> container_;
};

}  // namespace

std::unique_ptr<FrameEncoder> open_mp4(const std::filesystem::path& output, const VideoShape& shape,
                                       const VideoOptions& options) {
  return std::make_unique<Mp4Writer>(output, shape, options);
}

std::vector<std::string> video_codecs() {
  std::vector<std::string> codecs;
  const char* h264 = h264_encoder();
  if (h264 != nullptr) codecs.push_back(join("h264 (", h264, ", FFmpeg ", av_version_info(), ")"));
  if (avcodec_find_encoder_by_name("png") != nullptr) {
    codecs.push_back(join("png (FFmpeg ", av_version_info(), ")"));
  }
  return codecs;
}

}  // namespace pantograph
