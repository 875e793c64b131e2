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

std::unique_ptr<FrameEncoder> open_encoder(const std::filesystem::path& output,
                                           const VideoShape& shape, const VideoOptions& options) {
  if (output == "-") {
    if (::isatty(STDOUT_FILENO) == 1) {
      fail(ErrorKind::kInvalidArgument,
           "the output is '-' and standard output is a terminal; send it to a pipe or a file");
    }
    return open_y4m(STDOUT_FILENO, shape, options.frames_per_second);
  }
  std::error_code ignored;  // what cannot be looked at is no folder: opening it says why
  const std::filesystem::path extension = output.extension();
  if (std::filesystem::is_directory(output, ignored) || (extension.empty() && !output.empty())) {
    return open_png_folder(output, shape);
  }
  if (extension == ".mp4") return open_mp4(output, shape, options);
  if (extension == ".safetensors") return open_tensor_file(output, shape, options.tensor_dtype);
  fail(ErrorKind::kInvalidArgument, "cannot tell the format of the output '", output.string(),
       "'; give NAME.mp4, NAME.safetensors, a name without extension (a folder of PNG files) or - "
       "(YUV4MPEG2 on standard output)");
}

// Holds what a caller writes against the shape that was announced.
class VideoWriter final : public FrameSink {
 public:
  VideoWriter(const VideoShape& shape, std::unique_ptr<FrameEncoder> encoder)
      : shape_(shape), encoder_(std::move(encoder)) {}

  [[nodiscard]] FrameFormat preferred_format() const override {
    return {.layout = encoder_->layout()};
  }

  void write(const TensorView& frames) override {
    const bool encoded = frames.dtype == DType::kU8 && encoder_->layout() != PixelLayout::kRgbF32;
    check(frames, encoded);
    if (frames.shape[0] > shape_.frames - written_) {
      fail(ErrorKind::kInvalidArgument, written_ + frames.shape[0],
           " frames were written to a video of ", shape_.frames);
    }
    for (std::int64_t i = 0; i < frames.shape[0]; ++i, ++written_) {
      if (encoded) {
        const auto* data = static_cast<const std::uint8_t*>(frames.data);
        encoder_->write_bytes({data + i * frames.strides[0], frame_bytes()});
      } else {
        const auto* data = static_cast<const float*>(frames.data);
        encoder_->write({data + i * frames.strides[0], shape_.height, shape_.width});
      }
    }
  }

  void finish() override {
    if (written_ != shape_.frames) {
      fail(ErrorKind::kInvalidArgument, written_, " frames were written to a video of ",
           shape_.frames);
    }
    encoder_->finish();
  }

 private:
  // Of one frame in the encoder's layout.
  [[nodiscard]] std::size_t frame_bytes() const {
    const std::int64_t pixels = shape_.height * shape_.width;
    const std::int64_t chroma = (shape_.height + 1) / 2 * ((shape_.width + 1) / 2);
    const bool yuv = encoder_->layout() == PixelLayout::kYuv420;
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
  std::unique_ptr<FrameEncoder> encoder_;
  std::int64_t written_ = 0;
};

}  // namespace

std::unique_ptr<FrameSink> open_video_writer(const std::filesystem::path& output,
                                             const VideoShape& shape, const VideoOptions& options) {
  check(shape, options);
  return std::make_unique<VideoWriter>(shape, open_encoder(output, shape, options));
}

}  // namespace pantograph
