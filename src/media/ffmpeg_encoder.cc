#include "media/ffmpeg_encoder.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace pantograph {
FfmpegEncoder::FfmpegEncoder(const char* name, std::int64_t height, std::int64_t width,
                             AVPixelFormat format, int frames_per_second) {
  quieten_log();
  const AVCodec* codec = avcodec_find_encoder_by_name(name);
  if (codec == nullptr) {
    fail(ErrorKind::kUnsupported, "the installed FFmpeg has no encoder '", name, "'");
  }
  context_.reset(check_allocated(avcodec_alloc_context3(codec)));
  picture_.reset(check_allocated(av_frame_alloc()));
  packet_.reset(check_allocated(av_packet_alloc()));
  context_->height = static_cast<int>(height);
  context_->width = static_cast<int>(width);
  context_->pix_fmt = format;
  context_->time_base = AVRational{1, frames_per_second};
  context_->framerate = AVRational{frames_per_second, 1};
  context_->thread_count = 0;  // one per core
}

void FfmpegEncoder::set_option(const char* name, const std::string& value) {
  check_ffmpeg(av_opt_set(context_.get(), name, value.c_str(), AV_OPT_SEARCH_CHILDREN),
               ErrorKind::kInternal, join("FFmpeg's encoder option ", name, "=", value));
}

void FfmpegEncoder::open() {
  check_ffmpeg(avcodec_open2(context_.get(), nullptr, nullptr), ErrorKind::kUnsupported,
               join("cannot open the encoder ", context_->codec->name, " for ", context_->width,
                    " x ", context_->height, " pictures"));
  picture_->format = context_->pix_fmt;
  picture_->height = context_->height;
  picture_->width = context_->width;
  picture_->color_range = context_->color_range;  // ProRes's encoder asks the picture
  picture_->color_primaries = context_->color_primaries;
  picture_->color_trc = context_->color_trc;
  picture_->colorspace = context_->colorspace;
  picture_->chroma_location = context_->chroma_sample_location;
  check_ffmpeg(av_frame_get_buffer(picture_.get(), 0), ErrorKind::kInternal, "a picture's memory");
  picture_->pts = -1;
}

AVFrame& FfmpegEncoder::picture() {
  // The encoder may still read the last one: then this is another.
  check_ffmpeg(av_frame_make_writable(picture_.get()), ErrorKind::kInternal, "a picture's memory");
  return *picture_;
}

void FfmpegEncoder::encode(const PacketHandler& handle) {
  ++picture_->pts;
  send(picture_.get(), handle);
}

void FfmpegEncoder::flush(const PacketHandler& handle) {
  send(nullptr, handle);
}

void FfmpegEncoder::send(const AVFrame* picture, const PacketHandler& handle) {
  const std::string what = join("the encoder ", context_->codec->name, " failed");
  check_ffmpeg(avcodec_send_frame(context_.get(), picture), ErrorKind::kInternal, what);
  while (true) {
    const int result = avcodec_receive_packet(context_.get(), packet_.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
    check_ffmpeg(result, ErrorKind::kInternal, what);
    handle(*packet_);
    av_packet_unref(packet_.get());
  }
}

}  // namespace pantograph
