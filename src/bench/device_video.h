// Decoded videos that stay on a GPU, and how far apart they are.
#pragma once

#include <cstddef>
#include <vector>

#include "device/memory.h"
#include "pantograph/video_writer.h"

namespace pantograph::kernels {
struct Difference;
}

namespace pantograph::bench {

// A whole video in f32, in memory that is the caller's.
class DeviceVideo final : public FrameSink {
 public:
  DeviceVideo(const Device& device, const VideoShape& shape, void* stream);

  [[nodiscard]] FrameFormat preferred_format() const override { return {.device = device_}; }
  void write(const TensorView& frames) override;
  void poison();  // every f32 becomes NaN
  [[nodiscard]] unsigned long long checksum() const;
  [[nodiscard]] const std::byte* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }
  // From the beginning of a video that is at least as long.
  [[nodiscard]] kernels::Difference difference(const DeviceVideo& longer) const;

 private:
  Device device_;
  device::Memory memory_;
  void* stream_;
  std::size_t written_ = 0;
};

// Compares the frames of a reference decode with videos made before, as far as they go.
class ComparingSink final : public FrameSink {
 public:
  ComparingSink(const Device& device, std::vector<const DeviceVideo*> videos, void* stream);

  [[nodiscard]] FrameFormat preferred_format() const override { return {.device = device_}; }
  void write(const TensorView& frames) override;
  [[nodiscard]] kernels::Difference difference(std::size_t video) const;

 private:
  Device device_;
  std::vector<const DeviceVideo*> videos_;
  device::Memory sums_;
  void* stream_;
  std::size_t at_ = 0;
};

}  // namespace pantograph::bench
