// Frames and a context for the tests of ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/arena.h"
#include "core/frames.h"
#include "core/memory.h"
#include "core/random.h"
#include "ops/context.h"
#include "ops/conv3d/conv3d.h"

namespace pantograph::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// f32 frames [frames, height, width, channels] of their own, NaN until written.
struct HostFrames {
  std::vector<float> values;
  FramesView view;

  HostFrames(std::int64_t frames, std::int64_t height, std::int64_t width, std::int64_t channels)
      : values(static_cast<std::size_t>(frames * height * width * channels), kNan),
        view{.data = reinterpret_cast<std::byte*>(values.data()),
             .dtype = DType::kF32,
             .frames = frames,
             .height = height,
             .width = width,
             .channels = channels} {}
  HostFrames(const HostFrames&) = delete;
  HostFrames& operator=(const HostFrames&) = delete;

  float& at(std::int64_t t, std::int64_t y, std::int64_t x, std::int64_t c) {
    return values[static_cast<std::size_t>(
        ((t * view.height + y) * view.width + x) * view.channels + c)];
  }
  // N(0, 1)
  HostFrames& fill_normal(std::uint64_t seed) {
    const Random random(seed, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(random.normal(i));
    }
    return *this;
  }
  // Whole numbers from -3 to 3: sums of their products are exact in f32, in any order.
  HostFrames& fill_whole(std::uint64_t seed) {
    const Random random(seed, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(random.bits(i) % 7) - 3;
    }
    return *this;
  }
};

// Runs a call as a session does: once to plan, then in memory of the size that planning found,
// poisoned with NaN.
class OpRunner {
 public:
  using Call = std::function<void(const ops::Context&)>;

  void plan(const Call& call) {
    arena_.bind(nullptr, 0);
    call(context(true));
    plans_.prepare();
  }
  void run(const Call& call) {
    plan(call);
    slab_ = Buffer(arena_.peak());
    auto* words = reinterpret_cast<float*>(slab_.data());
    std::fill(words, words + slab_.bytes() / sizeof(float), kNan);
    arena_.bind(slab_.data(), slab_.bytes());
    call(context(false));
  }
  [[nodiscard]] ops::Context context(bool planning) {
    return {.arena = &arena_, .plans = &plans_, .planning = planning, .cancel = &cancel};
  }
  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] ops::PlanCache& plans() { return plans_; }
  CancelToken cancel;

 private:
  Arena arena_;
  ops::PlanCache plans_;
  Buffer slab_;
};

}  // namespace pantograph::test
