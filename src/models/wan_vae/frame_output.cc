#include "models/wan_vae/frame_output.h"

#include <algorithm>

#include "ops/cuda.h"
#include "ops/latent_frames/latent_frames.h"

namespace pantograph::wan_vae {
namespace {

TensorView view_of(PixelLayout layout, void* data, std::int64_t frames, std::int64_t height,
                   std::int64_t width, const Device& device) {
  switch (layout) {
    case PixelLayout::kRgbF32:
      return TensorView::dense(data, DType::kF32, {frames, height, width, 3}, device);
    case PixelLayout::kRgb24:
      return TensorView::dense(data, DType::kU8, {frames, height, width, 3}, device);
    case PixelLayout::kYuv420:
      break;
  }
  const std::int64_t chroma = (height + 1) / 2 * ((width + 1) / 2);
  return TensorView::dense(data, DType::kU8, {frames, height * width + 2 * chroma}, device);
}

}  // namespace

void FrameOutput::emit(const Pass& pass, const FramesView& patches) {
  const std::int64_t pixels = patches.positions() * patch_ * patch_;
  most_frames_ = std::max(most_frames_, patches.frames);
  largest_ = std::max(largest_, static_cast<std::size_t>(3 * pixels) * sizeof(float));
  if (pass.ops.device.kind == DeviceKind::kCpu) {
    emit_on_cpu(pass, patches);
  } else if (!pass.ops.planning) {
    emit_on_gpu(pass, patches);
  }
}

void FrameOutput::emit_on_cpu(const Pass& pass, const FramesView& patches) {
  const Frames video(*pass.ops.arena, DType::kF32, patches.frames, patch_ * patches.height,
                     patch_ * patches.width, 3);
  ops::unpatchify(pass.ops, patches, patch_, video.view());
  if (pass.ops.planning) return;
  sink_->write(view_of(PixelLayout::kRgbF32, video->data, video->frames, video->height,
                       video->width, pass.ops.device));
}

void FrameOutput::emit_on_gpu(const Pass& pass, const FramesView& patches) {
  Slot& slot = slots_[next_];
  Slot& other = slots_[1 - next_];
  next_ = 1 - next_;
  hand_over(slot);  // what was in it
  const Device& device = pass.ops.device;
  TensorView frames = view_of(format_.layout, slot.frames.data(), patches.frames,
                              patch_ * patches.height, patch_ * patches.width, device);
  ops::cuda::unpatchify(pass.ops, patches, patch_, format_.layout, slot.frames.data());
  if (format_.device.kind == DeviceKind::kCuda) return sink_->write(frames);

  reserve_host(slot, frames.bytes() / static_cast<std::size_t>(frames.shape[0]));
  device::record(slot.made.get(), pass.ops.stream);
  device::stream_wait(copies_.get(), slot.made.get());
  device::copy(slot.host.get(), frames.data, frames.bytes(), copies_.get());
  device::record(slot.copied.get(), copies_.get());
  frames.data = slot.host.get();
  frames.device = {};
  slot.pending = frames;
  // The GPU has this group to work on meanwhile.
  hand_over(other);
}

// Page-locked memory takes long to get: no more of it than a group in the sink's layout needs, and
// not before the GPU has a group to work on meanwhile.
void FrameOutput::reserve_host(Slot& slot, std::size_t frame_bytes) const {
  const std::size_t bytes = frame_bytes * static_cast<std::size_t>(most_frames_);
  if (slot.host_bytes >= bytes) return;
  slot.host = device::PinnedMemory(device::allocate_pinned(bytes));
  slot.host_bytes = bytes;
}

void FrameOutput::hand_over(Slot& slot) {
  if (slot.pending.rank == 0) return;
  device::wait(slot.copied.get());
  const TensorView frames = std::exchange(slot.pending, {});
  sink_->write(frames);
}

std::size_t FrameOutput::bytes() const {
  return slots_.size() * largest_;
}

void FrameOutput::allocate(const ExecutionContext& context) {
  copies_ = device::Stream(device::create_stream());
  for (Slot& slot : slots_) {
    slot.frames = device::Memory(context.device, largest_, context.allocator, context.stream);
    slot.made = device::Event(device::create_event());
    slot.copied = device::Event(device::create_event());
  }
}

void FrameOutput::begin(FrameSink& sink) {
  sink_ = &sink;
  format_ = sink.preferred_format();
}

void FrameOutput::finish() {
  hand_over(slots_[next_]);  // the older one
  hand_over(slots_[1 - next_]);
}

}  // namespace pantograph::wan_vae
