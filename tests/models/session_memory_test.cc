// What a session takes is what it planned, and what it cannot have it says before any work.
#include <cstdlib>
#include <limits>
#include <regex>

#include "models/vae_test.h"
#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::CollectingSink;
using test::expect_error;
using test::golden;
using test::Latents;

// Counts what is out; refuses from the allocation numbered `refuse_from` on.
struct Counter {
  std::size_t out = 0, peak = 0;
  int allocations = 0, refuse_from = std::numeric_limits<int>::max();

  Allocator allocator() {
    return {.allocate = [this](std::size_t bytes) -> void* {
              if (++allocations >= refuse_from) return nullptr;
              out += bytes;
              peak = std::max(peak, out);
              return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
            },
            .deallocate =
                [this](void* pointer, std::size_t bytes) {
                  out -= bytes;
                  std::free(pointer);
                }};
  }
};

TEST(SessionMemory, WhatIsPlannedIsTakenAndGivenBack) {
  const Vae vae = Vae::open(golden("tiny"));
  for (const std::int64_t frames : {1, 3}) {
    Counter counter;
    DecodeOptions options;
    options.frames_per_pass = frames;
    options.context.allocator = counter.allocator();
    {
      DecodeSession session = vae.decode_session(2, 3, options);
      EXPECT_EQ(session.frames_per_pass(), frames);
      EXPECT_EQ(counter.out, session.planned_bytes());
      EXPECT_GT(counter.out, 0U);
      const Latents latents(4, 2, 3);
      CollectingSink sink;
      session.push(latents.view, sink);
      session.push(latents.view, sink);
      EXPECT_EQ(counter.peak, session.planned_bytes());
    }
    EXPECT_EQ(counter.out, 0U);
  }
}

TEST(SessionMemory, AClipShorterThanAPassTakesLess) {
  const Vae vae = Vae::open(golden("odd"));
  Counter counter;
  DecodeOptions options;
  options.context.allocator = counter.allocator();
  CollectingSink sink;
  vae.decode(Latents(1, 1, 2).view, sink, options);
  options.clip_frames = 1;
  const DecodePlan plan = vae.plan(1, 2, options);
  EXPECT_EQ(plan.frames_per_pass, 1);
  EXPECT_EQ(counter.peak, plan.bytes);
  EXPECT_LT(plan.bytes, vae.plan(1, 2).bytes / 2);

  options.clip_frames = -1;
  expect_error(ErrorKind::kInvalidArgument, {"-1 latent frames"},
               [&] { return vae.plan(1, 2, options); });
}

TEST(SessionMemory, AFrameAloneRemembersNothing) {
  const Vae vae = Vae::open(golden("tiny"));
  Counter counter;
  DecodeOptions options;
  options.frames_per_pass = 1;
  options.context.allocator = counter.allocator();
  const std::size_t followed = vae.plan(2, 3, options).bytes;
  CollectingSink sink;
  const std::size_t alone = vae.decode(Latents(1, 2, 3).view, sink, options).planned_bytes;
  EXPECT_LT(alone, followed / 2);
  EXPECT_EQ(counter.peak, alone);
}

TEST(SessionMemory, NoMoreIsPushedThanWasPlannedFor) {
  const Vae vae = Vae::open(golden("tiny"));
  DecodeOptions options;
  options.clip_frames = 3;
  DecodeSession session = vae.decode_session(2, 3, options);
  CollectingSink sink;
  session.push(Latents(2, 2, 3).view, sink);
  expect_error(ErrorKind::kInvalidArgument,
               {"2 latent frames were pushed after 2 of a clip that was to have 3"},
               [&] { session.push(Latents(2, 2, 3).view, sink); });
}

TEST(SessionMemory, DoesNotGrowWithTheClip) {
  const Vae vae = Vae::open(golden("odd"));
  const DecodeSession planned = vae.decode_session(1, 2);
  for (const std::int64_t frames : {4, 7, 12}) {
    Counter counter;
    DecodeOptions options;
    options.context.allocator = counter.allocator();
    CollectingSink sink;
    vae.decode(Latents(frames, 1, 2).view, sink, options);
    EXPECT_EQ(counter.peak, planned.planned_bytes()) << frames;
    EXPECT_EQ(counter.out, 0U);
  }
}

TEST(SessionMemory, IsGivenBackAfterAnError) {
  const Vae vae = Vae::open(golden("tiny"));
  Counter counter;
  DecodeOptions options;
  options.context.allocator = counter.allocator();
  options.cancel.cancel();
  CollectingSink sink;
  expect_error(ErrorKind::kCancelled, {},
               [&] { vae.decode(Latents(1, 1, 1).view, sink, options); });
  EXPECT_GT(counter.peak, 0U);
  EXPECT_EQ(counter.out, 0U);
}

TEST(SessionMemory, AnAllocatorThatHasNoneIsAnErrorAndKeepsNothing) {
  const Vae vae = Vae::open(golden("tiny"));
  for (const int refuse_from : {1, 2}) {
    Counter counter;
    counter.refuse_from = refuse_from;
    DecodeOptions options;
    options.context.allocator = counter.allocator();
    expect_error(ErrorKind::kOutOfMemory, {"no memory for a buffer of"},
                 [&] { return vae.decode_session(1, 1, options); });
    EXPECT_EQ(counter.allocations, refuse_from);
    EXPECT_EQ(counter.out, 0U);
  }
}

// Weights that are on the device already count in a limit as well.
TEST(SessionMemory, StaysWithinTheLimitWithItsWeights) {
  const Vae vae = Vae::open(golden("tiny"));
  DecodeOptions options;
  options.frames_per_pass = 1;
  const std::size_t one = vae.plan(4, 4, options).total_bytes();
  options.frames_per_pass = 4;
  const std::size_t four = vae.plan(4, 4, options).total_bytes();
  EXPECT_GT(four, one);
  options.frames_per_pass = 0;
  EXPECT_EQ(vae.decode_session(4, 4, options).frames_per_pass(), 4);
  for (const std::size_t limit : {four, four - 1, one, one - 1}) {
    options.memory_limit = limit;
    const DecodePlan plan = vae.plan(4, 4, options);
    EXPECT_LE(plan.bytes + plan.weight_bytes, limit);
    const DecodeSession session = vae.decode_session(4, 4, options);
    EXPECT_EQ(session.planned_bytes(), plan.bytes);
    EXPECT_EQ(session.frames_per_pass(), plan.frames_per_pass);
  }
  options.memory_limit = vae.plan(4, 4).weight_bytes;
  expect_error(ErrorKind::kOutOfMemory, {"allowed, weights included"},
               [&] { return vae.decode_session(4, 4, options); });
}

// oneDNN's layouts pad channels to whole vectors at most.
TEST(SessionMemory, PlansAllWeightsWhetherTheyArePackedOrNot) {
  const Vae vae = Vae::open(golden("tiny"));
  const auto parameters = static_cast<std::size_t>(vae.parameters()) * sizeof(float);
  const std::size_t before = vae.plan(4, 4).weight_bytes;
  EXPECT_GT(before, parameters / 2);
  EXPECT_LT(before, 2 * parameters);
  const DecodeSession session = vae.decode_session(4, 4);
  EXPECT_EQ(vae.plan(4, 4).weight_bytes, before);
}

TEST(SessionMemory, TheRefusalNamesThePassThatWouldFit) {
  const Vae vae = Vae::open(golden("tiny"));
  DecodeOptions options;
  options.frames_per_pass = 1;
  options.memory_limit = vae.plan(4, 4, options).total_bytes();
  Counter counter;
  options.context.allocator = counter.allocator();
  options.frames_per_pass = 50;
  expect_error(ErrorKind::kOutOfMemory,
               {"latents of 4 x 4 need more than the",
                "allowed, weights included, at 50 latent frames a pass", "4 a pass would fit"},
               [&] { return vae.decode_session(4, 4, options); });
  options.memory_limit = 1000;
  expect_error(ErrorKind::kOutOfMemory, {"allow more, or use smaller latents"},
               [&] { return vae.decode_session(4, 4, options); });
  EXPECT_EQ(counter.allocations, 0);
}

TEST(SessionMemory, TheRefusalNamesALimitThatWouldDo) {
  const Vae vae = Vae::open(golden("tiny"));
  DecodeOptions options;
  options.memory_limit = vae.plan(4, 4).weight_bytes;
  std::string message;
  try {
    const DecodeSession session = vae.decode_session(4, 4, options);
  } catch (const Error& error) {
    message = error.what();
  }
  std::smatch found;
  ASSERT_TRUE(std::regex_search(message, found, std::regex("; ([0-9.]+) MiB would do$")))
      << message;
  options.memory_limit = static_cast<std::size_t>(std::stod(found[1]) * 1024 * 1024);
  EXPECT_LE(vae.plan(4, 4, options).total_bytes(), options.memory_limit);
}

TEST(SessionMemory, LatentsBeyondTheMachineAreRefusedBeforeAnythingIsTaken) {
  const Vae vae = Vae::open(golden("tiny"));
  Counter counter;
  DecodeOptions options;
  options.context.allocator = counter.allocator();
  options.memory_limit = std::size_t{16} << 30;
  expect_error(ErrorKind::kOutOfMemory, {"latents of 4000 x 4000", "16.0 GiB allowed"},
               [&] { return vae.decode_session(4000, 4000, options); });
  options.memory_limit = 0;
  expect_error(ErrorKind::kOutOfMemory,
               {"latents of 65536 x 65536", "available, weights included",
                "use smaller latents or a device with more memory"},
               [&] { return vae.decode_session(65536, 65536, options); });
  EXPECT_EQ(counter.allocations, 0);
}

TEST(SessionMemory, SizesThatOverflowAreRefused) {
  const Vae vae = Vae::open(golden("tiny"));
  constexpr std::int64_t kLarge = 1'000'000'000,
                         kLargest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [height, width] :
       {std::pair{kLarge, kLarge}, {kLargest, kLargest}, {kLargest, std::int64_t{1}}}) {
    expect_error(ErrorKind::kInvalidArgument, {"height and width must be at most 65536"},
                 [&] { return vae.decode_session(height, width); });
  }
  for (const std::int64_t frames : {kLarge, kLargest / 4, kLargest}) {
    DecodeOptions options;
    options.frames_per_pass = frames;
    expect_error(ErrorKind::kOutOfMemory, {"4 a pass would fit"},
                 [&] { return vae.decode_session(1, 1, options); });
  }
}

}  // namespace
}  // namespace pantograph
