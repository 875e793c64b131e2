// What one decode remembers between passes: the last frames that each causal convolution has seen.
#pragma once

#include <cstddef>
#include <map>

#include "core/frames.h"
#include "device/memory.h"
#include "ops/context.h"

namespace pantograph::wan_vae {

// Planning lays the histories out; allocate() then takes them as one zeroed buffer, zeros being
// what a causal convolution sees before the first frame. One that remembers nothing, because a clip
// ends where it begins, has zeros for all in the same place.
class CausalState {
 public:
  explicit CausalState(bool remembers = true) : remembers_(remembers) {}

  // Fills the `count` frames of room in front of x with the history of `owner`.
  void restore(const ops::Context& context, const void* owner, const FramesView& x,
               std::int64_t count);
  // Keeps the last `count` frames of x, counted with the room in front of it.
  void save(const ops::Context& context, const void* owner, const FramesView& x,
            std::int64_t count);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // once planned
  void allocate(const ExecutionContext& context) {
    buffer_ = device::Memory(context.device, bytes_, context.allocator, context.stream);
  }

  // The `count` frames like x that `owner` remembers, until the next call.
  FramesView history(const ops::Context& context, const void* owner, const FramesView& x,
                     std::int64_t count);

 private:
  bool remembers_;
  std::map<const void*, std::size_t> offsets_;
  std::size_t bytes_ = 0;
  device::Memory buffer_;
};

}  // namespace pantograph::wan_vae
