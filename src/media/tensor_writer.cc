// Frames to a .safetensors file: one tensor "video" [frames, 3, H, W], values as they come.

#include "checkpoint/safetensors.h"
#include "core/convert.h"
#include "media/frame_encoder.h"

namespace pantograph {
namespace {

class TensorWriter final : public FrameEncoder {
 public:
  TensorWriter(const std::filesystem::path& output, const VideoShape& shape, DType dtype)
      : dtype_(dtype),
        planes_(static_cast<std::size_t>(3 * shape.height * shape.width)),
        bytes_(planes_.size() * size_of(dtype)),
        file_(output, {{.name = "video",
                        .dtype = dtype,
                        .shape = {shape.frames, 3, shape.height, shape.width}}}) {}

  void write(const RgbFrame& frame) override {
    const std::int64_t pixels = frame.height * frame.width;
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      float* plane = planes_.data() + channel * pixels;
      for (std::int64_t i = 0; i < pixels; ++i) plane[i] = frame.data[i * 3 + channel];
    }
    convert_from_f32(planes_.data(), dtype_, bytes_.data(), 3 * pixels);
    file_.append(bytes_.data(), bytes_.size());
  }

  void finish() override { file_.finish(); }

 private:
  DType dtype_;
  std::vector<float> planes_;     // one frame [3, H, W]
  std::vector<std::byte> bytes_;  // the same as dtype_
  SafetensorsWriter file_;
};

}  // namespace

std::unique_ptr<FrameEncoder> open_tensor_file(const std::filesystem::path& output,
                                               const VideoShape& shape, DType dtype) {
  return std::make_unique<TensorWriter>(output, shape, dtype);
}

}  // namespace pantograph
