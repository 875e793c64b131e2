#include "bench/device_video.h"

#include <algorithm>
#include <utility>

#include "device/check.h"
#include "kernels/wan_vae/compare.h"

namespace pantograph::bench {
namespace {

template <typename Value>
Value fetch(const std::byte* data, void* stream) {
  Value value;
  device::copy(&value, data, sizeof value, stream);
  device::synchronize(stream);
  return value;
}

void compare(const std::byte* a, const void* b, std::size_t bytes, std::byte* difference,
             void* stream) {
  device::check(kernels::compare(
      DType::kF32, a, b, static_cast<std::int64_t>(bytes / sizeof(float)),
      reinterpret_cast<kernels::Difference*>(difference), static_cast<cudaStream_t>(stream)));
}

}  // namespace

DeviceVideo::DeviceVideo(const Device& device, const VideoShape& shape, void* stream)
    : device_(device),
      memory_(device, static_cast<std::size_t>(shape.frames * shape.height * shape.width * 3) *
                          sizeof(float)),
      stream_(stream) {}

void DeviceVideo::write(const TensorView& frames) {
  device::copy(memory_.data() + written_, frames.data, frames.bytes(), stream_);
  written_ += frames.bytes();
}

void DeviceVideo::poison() {
  written_ = 0;
  device::check(
      cudaMemsetAsync(memory_.data(), 0xff, memory_.bytes(), static_cast<cudaStream_t>(stream_)));
}

unsigned long long DeviceVideo::checksum() const {
  const device::Memory sum(device_, sizeof(unsigned long long), {}, stream_);
  device::check(kernels::checksum(memory_.data(), static_cast<std::int64_t>(memory_.bytes() / 4),
                                  reinterpret_cast<unsigned long long*>(sum.data()),
                                  static_cast<cudaStream_t>(stream_)));
  return fetch<unsigned long long>(sum.data(), stream_);
}

kernels::Difference DeviceVideo::difference(const DeviceVideo& longer) const {
  const device::Memory sums(device_, sizeof(kernels::Difference), {}, stream_);
  compare(memory_.data(), longer.memory_.data(), memory_.bytes(), sums.data(), stream_);
  return fetch<kernels::Difference>(sums.data(), stream_);
}

ComparingSink::ComparingSink(const Device& device, std::vector<const DeviceVideo*> videos,
                             void* stream)
    : device_(device),
      videos_(std::move(videos)),
      sums_(device, videos_.size() * sizeof(kernels::Difference)),
      stream_(stream) {
  device::synchronize(nullptr);
}

void ComparingSink::write(const TensorView& frames) {
  for (std::size_t i = 0; i < videos_.size(); ++i) {
    const std::size_t end = std::min(videos_[i]->bytes(), at_ + frames.bytes());
    if (end <= at_) continue;
    compare(videos_[i]->data() + at_, frames.data, end - at_,
            sums_.data() + i * sizeof(kernels::Difference), stream_);
  }
  at_ += frames.bytes();
}

kernels::Difference ComparingSink::difference(std::size_t video) const {
  return fetch<kernels::Difference>(sums_.data() + video * sizeof(kernels::Difference), stream_);
}

}  // namespace pantograph::bench
