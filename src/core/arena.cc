#include "core/arena.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace pantograph {
namespace {

constexpr auto kBefore = [](const auto& range, std::size_t offset) {
  return range.offset < offset;
};

}  // namespace

std::size_t Arena::first_fit(std::size_t bytes) const {
  std::size_t offset = 0;
  for (const Range& range : used_) {
    if (range.offset - offset >= bytes) break;
    offset = range.offset + range.bytes;
  }
  return offset;
}

std::size_t Arena::planned(std::size_t bytes) {
  const std::vector<Range>& places = followed_->places_;
  require(next_ < places.size() && places[next_].bytes == bytes, "block ", next_, " of ", bytes,
          " bytes is not the one that was planned");
  return places[next_++].offset;
}

Arena::Block Arena::take(std::size_t bytes) {
  const std::size_t size = aligned(std::max<std::size_t>(bytes, 1));
  const std::size_t index = followed_ != nullptr ? next_ : sequence_.size();
  const std::size_t offset = followed_ != nullptr ? planned(size) : first_fit(size);
  const std::size_t before = slab_ == nullptr ? out_ : offset;
  if (capacity_ > 0 && (size > capacity_ || before > capacity_ - size)) {
    fail(slab_ == nullptr ? ErrorKind::kOutOfMemory : ErrorKind::kInternal, "a pass needs ", size,
         " bytes at ", before, " where there are ", capacity_);
  }
  const auto next = std::lower_bound(used_.begin(), used_.end(), offset, kBefore);
  require((next == used_.end() || offset + size <= next->offset) &&
              (next == used_.begin() || (next - 1)->offset + (next - 1)->bytes <= offset),
          "block ", index, " lies over another");
  used_.insert(next, {offset, size});
  peak_ = std::max(peak_, offset + size);
  if (slab_ == nullptr) {
    sequence_.push_back({.bytes = size, .begin = calls_++, .end = 0});
    out_ += size;
  }
  return {this, offset, size, index};
}

void Arena::Block::release() noexcept {
  if (arena_ == nullptr) return;
  auto& used = arena_->used_;
  used.erase(std::lower_bound(used.begin(), used.end(), offset_, kBefore));
  if (arena_->slab_ == nullptr) {
    arena_->sequence_[index_].end = arena_->calls_++;
    arena_->out_ -= bytes_;
  }
  arena_ = nullptr;
}

void Arena::bind(std::byte* slab, std::size_t bytes) {
  require(used_.empty(), "an arena was given a slab while blocks of it were in use");
  slab_ = slab;
  capacity_ = bytes;
  followed_ = nullptr;
  sequence_.clear();
  calls_ = 0;
}

Arena::Layout Arena::compact() const {
  require(slab_ == nullptr && used_.empty(), "only a sequence that is over can be laid out");
  std::vector<std::size_t> by_size(sequence_.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return sequence_[a].bytes > sequence_[b].bytes;
  });
  Layout layout;
  layout.places_.resize(sequence_.size());
  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t index : by_size) {
    const Planned& block = sequence_[index];
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (sequence_[other].end < block.begin || block.end < sequence_[other].begin) continue;
      const Range& taken = layout.places_[other];
      if (taken.offset >= offset + block.bytes) break;
      offset = std::max(offset, taken.offset + taken.bytes);
    }
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::size_t at, std::size_t other) { return at < layout.places_[other].offset; });
    placed.insert(after, index);
    layout.places_[index] = {offset, block.bytes};
    layout.bytes_ = std::max(layout.bytes_, offset + block.bytes);
  }
  return layout;
}

void Arena::follow(const Layout& layout, std::byte* slab, std::size_t bytes) {
  bind(slab, bytes);
  followed_ = &layout;
  next_ = 0;
}

}  // namespace pantograph
