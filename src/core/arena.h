// Memory that a decode takes and gives back within one pass, laid out in one slab.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace pantograph {

// Hands out offsets, first fit. Without a slab it only measures: the same sequence of calls, run
// once to plan and once in earnest, gives the same offsets, so peak() is known before any memory is
// taken.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 256;
  // The next multiple of it.
  static constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  // A part of the slab, given back on destruction.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept
        : arena_(std::exchange(other.arena_, nullptr)),
          offset_(other.offset_),
          bytes_(other.bytes_) {}
    Block& operator=(Block&& other) noexcept {
      if (this != &other) {
        release();
        arena_ = std::exchange(other.arena_, nullptr);
        offset_ = other.offset_;
        bytes_ = other.bytes_;
      }
      return *this;
    }
    ~Block() { release(); }

    // nullptr while planning.
    [[nodiscard]] std::byte* data() const {
      return arena_ != nullptr && arena_->slab_ != nullptr ? arena_->slab_ + offset_ : nullptr;
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void release() noexcept;

   private:
    friend class Arena;
    Block(Arena* arena, std::size_t offset, std::size_t bytes)
        : arena_(arena), offset_(offset), bytes_(bytes) {}
    Arena* arena_ = nullptr;
    std::size_t offset_ = 0, bytes_ = 0;
  };

  // Throws kInternal for what would leave the slab, kOutOfMemory for what is beyond the bytes that
  // may be planned with.
  Block take(std::size_t bytes);

  // The slab later blocks lie in; nullptr to plan, within `bytes` unless that is 0. Only while no
  // block is out.
  void bind(std::byte* slab, std::size_t bytes);
  [[nodiscard]] std::size_t peak() const { return peak_; }
  void reset_peak() { peak_ = 0; }

 private:
  struct Range {
    std::size_t offset, bytes;
  };
  std::byte* slab_ = nullptr;
  std::size_t capacity_ = 0;  // 0: no limit
  std::size_t peak_ = 0;
  std::vector<Range> used_;  // sorted by offset
};

}  // namespace pantograph
