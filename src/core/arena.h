// Memory that a decode takes and gives back within one pass, laid out in one slab.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace pantograph {

// Hands out offsets, first fit. Without a slab it only measures: the same sequence of calls, run
// once to plan and once in earnest, gives the same offsets, so peak() is known before any memory is
// taken. A sequence that is known whole can also be laid out with fewer gaps: see compact().
class Arena {
  struct Range {
    std::size_t offset, bytes;
  };

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
          bytes_(other.bytes_),
          index_(other.index_) {}
    Block& operator=(Block&& other) noexcept {
      if (this != &other) {
        release();
        arena_ = std::exchange(other.arena_, nullptr);
        offset_ = other.offset_;
        bytes_ = other.bytes_;
        index_ = other.index_;
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
    Block(Arena* arena, std::size_t offset, std::size_t bytes, std::size_t index)
        : arena_(arena), offset_(offset), bytes_(bytes), index_(index) {}
    Arena* arena_ = nullptr;
    std::size_t offset_ = 0, bytes_ = 0;
    std::size_t index_ = 0;  // in the sequence
  };

  // Throws kInternal for what would leave the slab or was not planned, kOutOfMemory where more
  // bytes are out at a time than may be planned with.
  Block take(std::size_t bytes);

  // The slab later blocks lie in; nullptr to plan, with at most `bytes` out at a time unless that
  // is 0. Only while no block is out, as what follows.
  void bind(std::byte* slab, std::size_t bytes);
  [[nodiscard]] std::size_t peak() const { return peak_; }
  void reset_peak() { peak_ = 0; }

  // Places for the blocks of one sequence, in its order.
  class Layout {
   public:
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    friend class Arena;
    std::vector<Range> places_;
    std::size_t bytes_ = 0;
  };
  // Of the blocks taken and given back since bind(nullptr), in less memory than first fit needs:
  // the largest first, each in the first gap between those that are out at the same time.
  [[nodiscard]] Layout compact() const;
  // Like bind(), for the very sequence that was laid out, once. The layout outlives it.
  void follow(const Layout& layout, std::byte* slab, std::size_t bytes);

 private:
  struct Planned {
    std::size_t bytes, begin, end;  // the last two count calls
  };
  [[nodiscard]] std::size_t first_fit(std::size_t bytes) const;
  [[nodiscard]] std::size_t planned(std::size_t bytes);

  std::byte* slab_ = nullptr;
  std::size_t capacity_ = 0;  // 0: no limit
  std::size_t peak_ = 0;
  std::vector<Range> used_;  // sorted by offset
  std::vector<Planned> sequence_;
  std::size_t calls_ = 0, out_ = 0;  // while planning: of take and release, and bytes
  const Layout* followed_ = nullptr;
  std::size_t next_ = 0;  // of its places
};

}  // namespace pantograph
