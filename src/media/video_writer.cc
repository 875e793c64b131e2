#include "pantograph/video_writer.h"

#include <unistd.h>

#include "core/check.h"
#include "media/frame_encoder.h"

namespace pantograph {
namespace {

constexpr std::int64_t kMaxSide = 16384;  // libx264's; keeps the bytes of a frame in 64 bits too
constexpr int kMaxFramesPerSecond = 1000;

void check(const VideoShape& shape, const VideoOptions& options) {
  if (shape.frames < 1 || shape.height < 1 || shape.width < 1 || shape.height > kMaxSide ||
      shape.width > kMaxSide) {
    fail(ErrorKind::kInvalidArgument, "cannot write a video of ", shape.frames, " frames of ",
         shape.height, " x ", shape.width, " (height x width); at least one frame is needed, and ",
         "sides from 1 to ", kMaxSide);
  }
  if (options.frames_per_second < 1 || options.frames_per_second > kMaxFramesPerSecond) {
    fail(ErrorKind::kInvalidArgument, options.frames_per_second,
         " frames per second; give a whole number from 1 to ", kMaxFramesPerSecond);
  }
  if (options.crf && (*options.crf < 0 || *options.crf > 51)) {
    fail(ErrorKind::kInvalidArgument, "crf ", *options.crf,
         "; give 0 (lossless) to 51 (smallest file), 18 is the default");
  }
  if (options.tensor_dtype != DType::kF32 && options.tensor_dtype != DType::kBF16) {
    fail(ErrorKind::kInvalidArgument, "a video tensor is stored as f32 or bf16, not as ",
         to_string(options.tensor_dtype));
  }
}

bool is_container(const std::filesystem::path& output) {
  const std::filesystem::path extension = output.extension();
  return extension == ".mp4" || extension == ".mkv" || extension == ".mov";
}

// What only an encoder of video can follow is refused elsewhere, not ignored.
void refuse_encoder_options(const VideoOptions& options) {
  if (options.codec || options.pixel_format || options.crf || options.preset) {
    fail(ErrorKind::kInvalidArgument,
         "a codec, pixel format, crf or preset is for .mp4, .mkv and .mov; leave it out, or name "
         "such an output");
  }
}

std::unique_ptr<FrameEncoder> open_encoder(const std::filesystem::path& output,
                                           const VideoShape& shape, const VideoOptions& options) {
  std::error_code ignored;  // what cannot be looked at is no folder: opening it says why
  const bool folder = std::filesystem::is_directory(output, ignored);
  if (is_container(output) && !folder) return open_container(output, shape, options);
  refuse_encoder_options(options);
  if (output == "-") {
    if (::isatty(STDOUT_FILENO) == 1) {
      fail(ErrorKind::kInvalidArgument,
           "the output is '-' and standard output is a terminal; send it to a pipe or a file");
    }
    return open_y4m(STDOUT_FILENO, shape, options.frames_per_second);
  }
  const std::filesystem::path extension = output.extension();
  if (folder || (extension.empty() && !output.empty())) return open_png_folder(output, shape);
  if (extension == ".safetensors") return open_tensor_file(output, shape, options.tensor_dtype);
  fail(ErrorKind::kInvalidArgument, "cannot tell the format of the output '", output.string(),
       "'; give NAME.mp4, NAME.mkv, NAME.mov, NAME.safetensors, a name without extension (a folder "
       "of PNG files) or - (YUV4MPEG2 on standard output)");
}

// Holds what a caller writes against the shape that was announced.
class VideoWriter final : public FrameSink {
 public:
  VideoWriter(const std::filesystem::path& output, const VideoShape& shape,
              const VideoOptions& options)
      : shape_(shape) {
    encoders_.push_back(open_encoder(output, shape, options));
    if (!options.contact_sheet.empty()) {
      encoders_.push_back(open_contact_sheet(options.contact_sheet, shape));
    }
  }

  // A contact sheet is made of f32 pixels, so with one there is one layout for both.
  [[nodiscard]] FrameFormat preferred_format() const override { return {.layout = layout()}; }

  void write(const TensorView& frames) override {
    const bool encoded = frames.dtype == DType::kU8 && layout() != PixelLayout::kRgbF32;
    check(frames, encoded);
    if (frames.shape[0] > shape_.frames - written_) {
      fail(ErrorKind::kInvalidArgument, written_ + frames.shape[0],
           " frames were written to a video of ", shape_.frames);
    }
    for (std::int64_t i = 0; i < frames.shape[0]; ++i, ++written_) {
      if (encoded) {
        const auto* data = static_cast<const std::uint8_t*>(frames.data);
        encoders_.front()->write_bytes({data + i * frames.strides[0], frame_bytes()});
        continue;
      }
      const auto* data = static_cast<const float*>(frames.data);
      const RgbFrame frame{data + i * frames.strides[0], shape_.height, shape_.width};
      for (const auto& encoder : encoders_) encoder->write(frame);
    }
  }

  void finish() override {
    if (written_ != shape_.frames) {
      fail(ErrorKind::kInvalidArgument, written_, " frames were written to a video of ",
           shape_.frames);
    }
    for (const auto& encoder : encoders_) encoder->finish();
  }

 private:
  [[nodiscard]] PixelLayout layout() const {
    return encoders_.size() == 1 ? encoders_.front()->layout() : PixelLayout::kRgbF32;
  }

  // Of one frame in the encoder's layout.
  [[nodiscard]] std::size_t frame_bytes() const {
    const std::int64_t pixels = shape_.height * shape_.width;
    const std::int64_t chroma = (shape_.height + 1) / 2 * ((shape_.width + 1) / 2);
    const bool yuv = layout() == PixelLayout::kYuv420;
    return static_cast<std::size_t>(yuv ? pixels + 2 * chroma : 3 * pixels);
  }

  void check(const TensorView& frames, bool encoded) const {
    const bool cpu = frames.device.kind == DeviceKind::kCpu && frames.is_dense();
    if (encoded && cpu && frames.rank > 0 && frames.shape[0] > 0 &&
        frames.bytes() == static_cast<std::size_t>(frames.shape[0]) * frame_bytes()) {
      return;
    }
    if (encoded || !cpu || frames.dtype != DType::kF32 || frames.rank != 4 ||
        frames.shape[1] != shape_.height || frames.shape[2] != shape_.width ||
        frames.shape[3] != 3) {
      fail(ErrorKind::kInvalidArgument, "frames must be dense f32 [n, ", shape_.height, ", ",
           shape_.width, ", 3] on the CPU, or in the preferred format");
    }
  }

  VideoShape shape_;
  std::vector<std::unique_ptr<FrameEncoder>> encoders_;  // the video, and its contact sheet
  std::int64_t written_ = 0;
};

}  // namespace

std::unique_ptr<FrameSink> open_video_writer(const std::filesystem::path& output,
                                             const VideoShape& shape, const VideoOptions& options) {
  check(shape, options);
  return std::make_unique<VideoWriter>(output, shape, options);
}

}  // namespace pantograph
