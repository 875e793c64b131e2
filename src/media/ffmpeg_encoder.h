// An encoder of FFmpeg's libavcodec (5.1 and later): pictures in, packets out some pictures later.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "media/ffmpeg_support.h"
#include "pantograph/video_writer.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace pantograph {

class FfmpegEncoder {
 public:
  using PacketHandler = std::function<void(AVPacket&)>;

  // Pictures follow each other at `frames_per_second`; their pts count them from 0.
  FfmpegEncoder(const char* name, std::int64_t height, std::int64_t width, AVPixelFormat format,
                int frames_per_second);

  // What is not set through context() is set by name, before open().
  [[nodiscard]] AVCodecContext& context() { return *context_; }
  void set_option(const char* name, const std::string& value);
  void open();

  // The picture to fill before each encode().
  AVFrame& picture();
  void encode(const PacketHandler& handle);
  void flush(const PacketHandler& handle);  // after the last picture

 private:
  struct Free {
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  };

  void send(const AVFrame* picture, const PacketHandler& handle);

  std::unique_ptr<AVCodecContext, Free> context_;
  std::unique_ptr<AVFrame, Free> picture_;
  std::unique_ptr<AVPacket, Free> packet_;
};

}  // namespace pantograph
