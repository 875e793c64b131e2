// Where decoded frames go: a file, a pipe, a tensor, a callback.
#pragma once

#include <cstdint>

#include "pantograph/export.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

// How the pixels of n frames are laid out.
enum class PixelLayout : std::uint8_t {
  kRgbF32,  // [n, H, W, 3] f32, RGB in [-1, 1]
  kRgb24,   // [n, H, W, 3] u8
  kYuv420,  // [n, H W + 2 ceil(H/2) ceil(W/2)] u8: Y, Cb and Cr of each frame, limited-range BT.709
};

struct FrameFormat {
  PixelLayout layout = PixelLayout::kRgbF32;
  Device device{};
};

class PANTOGRAPH_EXPORT FrameSink {
 public:
  FrameSink() = default;
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;
  // A sink destroyed before finish() leaves no output behind.
  virtual ~FrameSink() = default;

  // What write() would rather have than f32 RGB on the CPU, which every sink takes. A decode on a
  // GPU gives it; frames that stay on the GPU are then valid in the order of the context's stream.
  [[nodiscard]] virtual FrameFormat preferred_format() const { return {}; }

  // `frames` in the preferred format or as [n, H, W, 3], f32 on the CPU, RGB in [-1, 1]; dense,
  // valid during the call only.
  virtual void write(const TensorView& frames) = 0;

  // All frames are written: the output becomes visible under its name.
  virtual void finish() {}
};

}  // namespace pantograph
