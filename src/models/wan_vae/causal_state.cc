#include "models/wan_vae/causal_state.h"

#include "ops/copy/copy.h"

namespace pantograph::wan_vae {

FramesView CausalState::history(const void* owner, const FramesView& x, std::int64_t count) {
  FramesView kept = x.slice(0, count);
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
  ops::copy_frames(context, history(owner, x, count), x.slice(-count, count));
}

void CausalState::save(const ops::Context& context, const void* owner, const FramesView& x,
                       std::int64_t count) {
  ops::copy_frames(context, x.slice(x.frames - count, count), history(owner, x, count));
}

}  // namespace pantograph::wan_vae
