// Decoded frames on their way to a sink.
#pragma once

#include <array>

#include "device/memory.h"
#include "models/wan_vae/blocks.h"
#include "pantograph/frame_sink.h"

namespace pantograph::wan_vae {

// On a CPU frames are handed over as they come. On a GPU they are made in the layout the sink wants
// and copied to page-locked memory by a stream of their own; while the sink works on one group, the
// decode of the next is under way.
class FrameOutput {
 public:
  explicit FrameOutput(std::int64_t patch) : patch_(patch) {}

  // The last layer's output [n, H, W, 3 p p]. While planning, only the largest group is noted.
  void emit(const Pass& pass, const FramesView& patches);

  [[nodiscard]] std::size_t bytes() const;  // of device memory, once planned
  void allocate(const ExecutionContext& context);

  // Between these two, emitted frames go to the sink; the second hands over what is left.
  void begin(FrameSink& sink);
  void finish();

 private:
  // A group of frames: made on the device, copied to the host.
  struct Slot {
    device::Memory frames;
    device::PinnedMemory host;
    std::size_t host_bytes = 0;
    device::Event made, copied;
    TensorView pending;  // on the host; rank 0: none
  };
  void emit_on_cpu(const Pass& pass, const FramesView& patches);
  void emit_on_gpu(const Pass& pass, const FramesView& patches);
  void reserve_host(Slot& slot, std::size_t frame_bytes) const;
  void hand_over(Slot& slot);

  std::int64_t patch_;
  std::int64_t most_frames_ = 0;  // of a group
  std::size_t largest_ = 0;       // bytes of a group as f32, the largest layout
  FrameSink* sink_ = nullptr;
  FrameFormat format_;
  device::Stream copies_;
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
};

}  // namespace pantograph::wan_vae
