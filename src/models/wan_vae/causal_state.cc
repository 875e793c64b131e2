#include "models/wan_vae/causal_state.h"

#include <algorithm>

#include "ops/copy/copy.h"

namespace pantograph::wan_vae {

FramesView CausalState::history(const ops::Context& context, const void* owner, const FramesView& x,
                                std::int64_t count) {
  FramesView kept = x.slice(0, count);
  if (!remembers_) {
    const std::size_t bytes = Arena::aligned(kept.bytes());
    require(buffer_.data() == nullptr || bytes <= bytes_, "a history that was not planned");
    bytes_ = std::max(bytes_, bytes);
    kept.data = buffer_.data();
    if (kept.data != nullptr) ops::clear_frames(context, kept);
    return kept;
  }
  const auto [entry, added] = offsets_.emplace(owner, bytes_);
  if (added) {
    require(buffer_.data() == nullptr, "a history that was not planned");
    bytes_ += Arena::aligned(kept.bytes());
  }
  kept.data = buffer_.data() == nullptr ? nullptr : buffer_.data() + entry->second;
  return kept;
}

void CausalState::restore(const ops::Context& context, const void* owner, const FramesView& x,
                          std::int64_t count) {
  const FramesView room = x.slice(-count, count);
  if (!remembers_) return ops::clear_frames(context, room);
  ops::copy_frames(context, history(context, owner, x, count), room);
}

void CausalState::save(const ops::Context& context, const void* owner, const FramesView& x,
                       std::int64_t count) {
  if (!remembers_) return;
  ops::copy_frames(context, x.slice(x.frames - count, count), history(context, owner, x, count));
}

}  // namespace pantograph::wan_vae
