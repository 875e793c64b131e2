#include "core/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/frames.h"
#include "core/random.h"
#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::expect_error;

TEST(Arena, RoundsUpToItsAlignmentAndMeasuresThePeak) {
  Arena arena;
  EXPECT_EQ(arena.peak(), 0U);
  {
    const Arena::Block a = arena.take(1);
    EXPECT_EQ(a.bytes(), 256U);
    const Arena::Block b = arena.take(257);
    EXPECT_EQ(b.bytes(), 512U);
    const Arena::Block c = arena.take(0);  // has a place of its own all the same
    EXPECT_EQ(arena.peak(), 1024U);
  }
  const Arena::Block d = arena.take(256);
  EXPECT_EQ(arena.peak(), 1024U);
  arena.reset_peak();
  EXPECT_EQ(arena.peak(), 0U);
}

TEST(Arena, FillsTheFirstGapThatIsLargeEnough) {
  alignas(256) std::byte slab[256 * 8];
  Arena arena;
  arena.bind(slab, sizeof(slab));
  Arena::Block a = arena.take(256), b = arena.take(512), c = arena.take(256), d = arena.take(256);
  EXPECT_EQ(d.data(), slab + 4 * 256);
  a.release();
  c.release();
  b.release();
  const Arena::Block whole = arena.take(4 * 256);
  EXPECT_EQ(whole.data(), slab);
  d.release();
  const Arena::Block after = arena.take(256);
  EXPECT_EQ(after.data(), slab + 4 * 256);
}

TEST(Arena, ABlockMovesWithoutBeingGivenBackTwice) {
  alignas(256) std::byte slab[512];
  Arena arena;
  arena.bind(slab, sizeof(slab));
  Arena::Block a = arena.take(256);
  Arena::Block b = std::move(a);
  EXPECT_EQ(b.data(), slab);
  Arena::Block c = arena.take(256);
  c = std::move(b);  // gives its own back
  EXPECT_EQ(c.data(), slab);
  EXPECT_EQ(arena.take(256).data(), slab + 256);
  c.release();
  c.release();
  EXPECT_EQ(c.data(), nullptr);
  EXPECT_EQ(arena.take(512).data(), slab);
}

TEST(Arena, MoreThanWasPlannedIsADefect) {
  alignas(256) std::byte slab[512];
  Arena arena;
  arena.bind(slab, sizeof(slab));
  const Arena::Block a = arena.take(256);
  expect_error(ErrorKind::kInternal, {"needs 512 bytes at 256", "512"},
               [&] { return arena.take(512); });
  expect_error(ErrorKind::kInternal, {"while blocks"}, [&] { arena.bind(nullptr, 0); });
}

TEST(Arena, PlansNoFurtherThanIsAllowed) {
  Arena arena;
  arena.bind(nullptr, 1024);
  const Arena::Block a = arena.take(512);
  EXPECT_EQ(a.data(), nullptr);
  expect_error(ErrorKind::kOutOfMemory, {"1024"}, [&] { return arena.take(513); });
  expect_error(ErrorKind::kOutOfMemory, {"1024"}, [&] { return arena.take(std::size_t{1} << 63); });
  EXPECT_EQ(arena.take(512).bytes(), 512U);
}

// Three blocks of which first fit leaves a gap that the last does not fit.
TEST(Arena, LaysOutASequenceWithFewerGaps) {
  Arena arena;
  const auto run = [&](std::vector<const std::byte*>* places) {
    Arena::Block early = arena.take(512), middle = arena.take(256);
    const auto look = [&](const Arena::Block& block) {
      if (places != nullptr) places->push_back(block.data());
    };
    look(early), look(middle);
    early.release();
    const Arena::Block late = arena.take(768);
    look(late);
  };
  arena.bind(nullptr, 1024);
  run(nullptr);
  EXPECT_EQ(arena.peak(), 1536U);  // first fit
  const Arena::Layout layout = arena.compact();
  ASSERT_EQ(layout.bytes(), 1024U);
  alignas(256) std::byte slab[1024];
  for (int time = 0; time < 2; ++time) {
    arena.follow(layout, slab, sizeof(slab));
    std::vector<const std::byte*> places;
    run(&places);
    EXPECT_EQ(places, (std::vector<const std::byte*>{slab, slab + 768, slab}));
  }
  expect_error(ErrorKind::kInternal, {"not the one that was planned"},
               [&] { return arena.take(512); });
  arena.follow(layout, slab, sizeof(slab));
  expect_error(ErrorKind::kInternal, {"not the one that was planned"},
               [&] { return arena.take(256); });
}

// Any sequence, run again in memory of the size the first run measured, fits without overlap.
TEST(Arena, PlanningOnceAndRunningInEarnestTakeTheSamePlaces) {
  const Random random(3, 0);
  Arena arena;
  std::size_t most = 0;  // bytes out at a time
  const auto run = [&](const std::function<void(const std::vector<Arena::Block>&)>& look) {
    std::vector<Arena::Block> blocks;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      if (!blocks.empty() && random.bits(3 * i) % 100 < 45) {
        blocks.erase(blocks.begin() +
                     static_cast<std::ptrdiff_t>(random.bits(3 * i + 1) % blocks.size()));
      } else {
        blocks.push_back(arena.take(random.bits(3 * i + 2) % 3000));
      }
      look(blocks);
    }
  };
  const auto measure = [&](const std::vector<Arena::Block>& blocks) {
    std::size_t out = 0;
    for (const Arena::Block& block : blocks) out += block.bytes();
    most = std::max(most, out);
  };
  std::vector<std::byte> slab;
  const auto expect_room = [&](const std::vector<Arena::Block>& blocks) {
    std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
    for (const Arena::Block& block : blocks) {
      ranges.emplace_back(block.data(), block.data() + block.bytes());
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ASSERT_GE(ranges[i].first, i > 0 ? ranges[i - 1].second : slab.data());
    }
    ASSERT_TRUE(ranges.empty() || ranges.back().second <= slab.data() + slab.size());
  };
  run(measure);
  const std::size_t first_fit = arena.peak();
  const Arena::Layout compact = arena.compact();
  EXPECT_LE(most, compact.bytes());
  EXPECT_LT(compact.bytes(), first_fit);
  slab.resize(compact.bytes());
  arena.follow(compact, slab.data(), slab.size());
  run(expect_room);
  slab.resize(first_fit);
  arena.bind(slab.data(), slab.size());
  run(expect_room);
}

TEST(Frames, HaveRoomInFrontThatASliceReaches) {
  alignas(256) std::byte slab[4096];
  Arena arena;
  arena.bind(slab, sizeof(slab));
  const Frames frames(arena, DType::kF32, 3, 2, 4, 5, 2);
  EXPECT_EQ(frames->frame_bytes(), 160U);
  EXPECT_EQ(frames->bytes(), 480U);
  EXPECT_EQ(frames->positions(), 24);
  EXPECT_EQ(frames->data, slab + 320);
  const FramesView all = frames->slice(-2, 5);
  EXPECT_EQ(all.data, slab);
  EXPECT_EQ(all.frames, 5);
  EXPECT_EQ(frames->slice(1, 1).data, slab + 480);
  EXPECT_EQ(arena.peak(), 1024U);  // 5 frames of 160 bytes
}

TEST(Frames, SizesThatCannotBeCountedAreRefusedWhilePlanning) {
  constexpr std::int64_t kLarge = 1'000'000'000;
  Arena arena;
  expect_error(ErrorKind::kOutOfMemory, {"1000000000 x 1000000000"},
               [&] { return Frames(arena, DType::kF32, 4, kLarge, kLarge, 1024); });
  expect_error(ErrorKind::kOutOfMemory, {"1 x 1"},
               [&] { return Frames(arena, DType::kF32, std::int64_t{1} << 62, 1, 1, 1); });
}

}  // namespace
}  // namespace pantograph
