#include "core/arena.h"

#include <algorithm>

#include "core/check.h"

namespace pantograph {
Arena::Block Arena::take(std::size_t bytes) {
  const std::size_t size = aligned(std::max<std::size_t>(bytes, 1));
  std::size_t offset = 0;
  auto next = used_.begin();
  for (; next != used_.end() && next->offset - offset < size; ++next) {
    offset = next->offset + next->bytes;
  }
  if (capacity_ > 0 && (size > capacity_ || offset > capacity_ - size)) {
    fail(slab_ == nullptr ? ErrorKind::kOutOfMemory : ErrorKind::kInternal, "a pass needs ", size,
         " bytes at ", offset, " where there are ", capacity_);
  }
  used_.insert(next, {offset, size});
  peak_ = std::max(peak_, offset + size);
  return {this, offset, size};
}

void Arena::Block::release() noexcept {
  if (arena_ == nullptr) return;
  auto& used = arena_->used_;
  used.erase(
      std::lower_bound(used.begin(), used.end(), offset_,
                       [](const Range& range, std::size_t at) { return range.offset < at; }));
  arena_ = nullptr;
}

void Arena::bind(std::byte* slab, std::size_t bytes) {
  require(used_.empty(), "an arena was given a slab while blocks of it were in use");
  slab_ = slab;
  capacity_ = bytes;
}

}  // namespace pantograph
