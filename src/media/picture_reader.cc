#include <cerrno>
#include <cstdlib>

#include "media/ffmpeg_support.h"
#include "media/picture.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
}

namespace pantograph {
namespace {

struct Free {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};

// JPEG's formats under the names that are not deprecated; full range is said beside them.
AVPixelFormat without_range(AVPixelFormat format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      return AV_PIX_FMT_YUV440P;
    default:
      return format;
  }
}

// FFmpeg's image decoders keep an EXIF orientation as text in a frame's metadata.
int exif_orientation(const AVFrame& frame) {
  const AVDictionaryEntry* entry = av_dict_get(frame.metadata, "Orientation", nullptr, 0);
  return entry == nullptr ? 1 : std::atoi(entry->value);
}

}  // namespace

struct PictureReader::Impl {
  std::string name;
  std::unique_ptr<AVFormatContext, Free> container;
  std::unique_ptr<AVCodecContext, Free> decoder;
  std::unique_ptr<AVFrame, Free> frame;
  std::unique_ptr<AVPacket, Free> packet;
  std::unique_ptr<SwsContext, Free> to_rgb;
  int stream = -1;
  bool drained = false;
  std::int64_t height = 0, width = 0;  // of every picture, once the first is known

  void open(const std::filesystem::path& path);
  void check_size(std::int64_t picture_height, std::int64_t picture_width) const;
  bool receive();
  [[nodiscard]] Picture convert();
};

void PictureReader::Impl::open(const std::filesystem::path& path) {
  quieten_log();
  name = path.string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail(ErrorKind::kNotFound, name, ": no such file");
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(ErrorKind::kInvalidArgument, name, ": not a file; expected an image or a video");
  }
  AVFormatContext* opened = nullptr;
  // Only plain files, whatever a playlist inside might name.
  AVDictionary* options = nullptr;
  av_dict_set(&options, "protocol_whitelist", "file", 0);
  const int result = avformat_open_input(&opened, ("file:" + name).c_str(), nullptr, &options);
  av_dict_free(&options);
  check_ffmpeg(result, ErrorKind::kFormat, name + ": not an image or video that FFmpeg reads");
  container.reset(opened);
  const AVCodec* codec = nullptr;
  stream = av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  if (stream < 0 || codec == nullptr) {
    // Some formats say what they hold only when their first packets are looked at.
    check_ffmpeg(avformat_find_stream_info(opened, nullptr), ErrorKind::kFormat,
                 name + ": broken beyond reading");
    stream = av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  }
  if (stream < 0 || codec == nullptr) fail(ErrorKind::kFormat, name, ": no picture in it");
  decoder.reset(check_allocated(avcodec_alloc_context3(codec)));
  check_ffmpeg(avcodec_parameters_to_context(decoder.get(), opened->streams[stream]->codecpar),
               ErrorKind::kFormat, name + ": its picture cannot be decoded");
  decoder->max_pixels = kMaxPicturePixels;  // FFmpeg's own check of what a header says
  if (decoder->height > 0 && decoder->width > 0) check_size(decoder->height, decoder->width);
  check_ffmpeg(avcodec_open2(decoder.get(), codec, nullptr), ErrorKind::kUnsupported,
               name + ": its picture cannot be decoded");
  frame.reset(check_allocated(av_frame_alloc()));
  packet.reset(check_allocated(av_packet_alloc()));
}

void PictureReader::Impl::check_size(std::int64_t picture_height,
                                     std::int64_t picture_width) const {
  if (picture_height > kMaxPictureSide || picture_width > kMaxPictureSide ||
      picture_height * picture_width > kMaxPicturePixels) {
    fail(ErrorKind::kInvalidArgument, name, ": a picture of ", picture_width, " x ", picture_height,
         "; at most ", kMaxPictureSide, " a side and ", kMaxPicturePixels,
         " pixels are read: make it smaller");
  }
}

// The next decoded frame; false at the end.
bool PictureReader::Impl::receive() {
  const std::string broken = name + ": broken picture data";
  while (true) {
    const int result = avcodec_receive_frame(decoder.get(), frame.get());
    if (result == AVERROR_EOF) return false;
    if (result != AVERROR(EAGAIN)) {
      check_ffmpeg(result, ErrorKind::kFormat, broken);
      return true;
    }
    if (drained) return false;
    const int read = av_read_frame(container.get(), packet.get());
    if (read == AVERROR_EOF) {
      drained = true;
      check_ffmpeg(avcodec_send_packet(decoder.get(), nullptr), ErrorKind::kFormat, broken);
      continue;
    }
    check_ffmpeg(read, ErrorKind::kFormat, broken);
    if (packet->stream_index == stream) {
      check_ffmpeg(avcodec_send_packet(decoder.get(), packet.get()), ErrorKind::kFormat, broken);
    }
    av_packet_unref(packet.get());
  }
}

Picture PictureReader::Impl::convert() {
  check_size(frame->height, frame->width);
  const auto stored = static_cast<AVPixelFormat>(frame->format);
  const AVPixelFormat format = without_range(stored);
  constexpr int kFlags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
  to_rgb.reset(sws_getCachedContext(to_rgb.release(), frame->width, frame->height, format,
                                    frame->width, frame->height, AV_PIX_FMT_RGB24, kFlags, nullptr,
                                    nullptr, nullptr));
  if (to_rgb == nullptr) {
    fail(ErrorKind::kUnsupported, name, ": its pixels cannot be converted to RGB");
  }
  const int matrix = frame->colorspace == AVCOL_SPC_BT709 ? SWS_CS_ITU709 : SWS_CS_DEFAULT;
  const int full = frame->color_range == AVCOL_RANGE_JPEG || format != stored ? 1 : 0;
  sws_setColorspaceDetails(to_rgb.get(), sws_getCoefficients(matrix), full,
                           sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
  Picture picture{.height = frame->height, .width = frame->width, .rgb = {}};
  picture.rgb.resize(static_cast<std::size_t>(picture.height * picture.width * 3));
  std::uint8_t* const planes[] = {picture.rgb.data()};
  const int strides[] = {static_cast<int>(picture.width * 3)};
  check_ffmpeg(
      sws_scale(to_rgb.get(), frame->data, frame->linesize, 0, frame->height, planes, strides),
      ErrorKind::kInternal, name + ": conversion to RGB");
  return oriented(std::move(picture), exif_orientation(*frame));
}

PictureReader PictureReader::open(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>();
  impl->open(path);
  return PictureReader(std::move(impl));
}

bool PictureReader::next(Picture& picture) {
  if (!impl_->receive()) {
    if (impl_->height == 0) fail(ErrorKind::kFormat, impl_->name, ": no picture in it");
    return false;
  }
  picture = impl_->convert();
  if (impl_->height == 0) {
    impl_->height = picture.height;
    impl_->width = picture.width;
  } else if (picture.height != impl_->height || picture.width != impl_->width) {
    fail(ErrorKind::kFormat, impl_->name, ": its pictures change size, from ", impl_->width, " x ",
         impl_->height, " to ", picture.width, " x ", picture.height);
  }
  av_frame_unref(impl_->frame.get());
  return true;
}

PictureReader::PictureReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PictureReader::PictureReader(PictureReader&&) noexcept = default;
PictureReader& PictureReader::operator=(PictureReader&&) noexcept = default;
PictureReader::~PictureReader() = default;

}  // namespace pantograph
