// Activations of a video model: [frames, height, width, channels], channels last, dense.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "core/check.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

struct FramesView {
  std::byte* data = nullptr;  // stays nullptr while planning
  DType dtype = DType::kF32;
  std::int64_t frames = 0, height = 0, width = 0, channels = 0;

  [[nodiscard]] std::int64_t positions() const { return frames * height * width; }
  [[nodiscard]] std::int64_t frame_elements() const { return height * width * channels; }
  [[nodiscard]] std::size_t frame_bytes() const {
    return static_cast<std::size_t>(frame_elements()) * size_of(dtype);
  }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(frames) * frame_bytes();
  }
  [[nodiscard]] float* f32() const { return reinterpret_cast<float*>(data); }

  // Frames [begin, begin + count). A negative `begin` reaches the room in front (see Frames).
  [[nodiscard]] FramesView slice(std::int64_t begin, std::int64_t count) const {
    FramesView part = *this;
    if (data != nullptr) part.data += begin * static_cast<std::int64_t>(frame_bytes());
    part.frames = count;
    return part;
  }
};

// Frames that own their block, with `lead` more frames of room in front: a causal convolution over
// them finds its history there, so that it is an offset and never a copy of the whole.
class Frames {
 public:
  Frames() = default;
  Frames(Arena& arena, DType dtype, std::int64_t frames, std::int64_t height, std::int64_t width,
         std::int64_t channels, std::int64_t lead = 0)
      : view_{.data = nullptr,
              .dtype = dtype,
              .frames = frames,
              .height = height,
              .width = width,
              .channels = channels} {
    std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
    if (!checked_multiply(bytes, channels, bytes) || !checked_multiply(bytes, width, bytes) ||
        !checked_multiply(bytes, height, bytes) || !checked_multiply(bytes, frames + lead, bytes)) {
      fail(ErrorKind::kOutOfMemory, frames, " frames of ", height, " x ", width, " with ", channels,
           " channels are more than any memory holds");
    }
    const std::size_t lead_bytes = static_cast<std::size_t>(lead) * view_.frame_bytes();
    block_ = arena.take(static_cast<std::size_t>(bytes));
    view_.data = block_.data();
    if (view_.data != nullptr) view_.data += lead_bytes;
  }

  [[nodiscard]] const FramesView& view() const { return view_; }
  const FramesView* operator->() const { return &view_; }
  void release() { block_.release(); }

 private:
  Arena::Block block_;
  FramesView view_;
};

}  // namespace pantograph
