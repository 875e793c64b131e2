#include "models/pan2_dit/dit.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"
#include "models/pan2_dit/synthetic.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph::pan2_dit {
namespace {

using test::expect_error;
using test::TempDir;

Config small_config() {
  Config config = tiny_config(24);
  config.heads = 2;
  config.layers = 2;
  config.refiner_layers = 1;
  config.mlp_ratio = config.context_mlp_ratio = config.refiner_mlp_ratio = 1;
  return config;
}

std::vector<float> normal(std::int64_t count, std::uint64_t seed) {
  const Random random(seed, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(random.normal(i));
  return values;
}

class DitTest : public testing::Test {
 protected:
  DitTest() { make_checkpoint(dir_ / "dit", small_config(), 1, DType::kF32); }
  [[nodiscard]] std::shared_ptr<const Dit> open() const { return Dit::open(dir_ / "dit"); }

  static RefinedText refine(Session& session, std::int64_t tokens) {
    std::vector<float> states = normal(tokens * 24, 7);
    return session.refine(TensorView::dense(states.data(), DType::kF32, {tokens, 24}));
  }
  static std::vector<float> forward(Session& session, const RefinedText& text,
                                    const Session::BlockCallback& on_block = {}) {
    const std::int64_t plane = session.latent_elements();
    const std::vector<float> noisy = normal(48 * plane, 8), zeros(noisy.size());
    std::vector<float> velocity(noisy.size());
    session.forward({.noisy = noisy.data(),
                     .conditioning = zeros.data(),
                     .mask = zeros.data(),
                     .text = &text,
                     .timestep = 250},
                    velocity.data(), on_block);
    return velocity;
  }
  TempDir dir_;
};

TEST_F(DitTest, TextsOfSeveralLengthsTakeTurnsInOneSession) {
  const auto dit = open();
  Session both(dit, {.frames = 2, .height = 4, .width = 2}), alone(dit, {2, 4, 2});
  const RefinedText shorter = refine(both, 3), longer = refine(both, 40);
  const std::vector<float> first = forward(both, shorter);
  const std::vector<float> second = forward(both, longer);
  EXPECT_EQ(forward(both, shorter), first);
  EXPECT_EQ(forward(alone, longer), second);
  EXPECT_NE(first, second);
}

TEST_F(DitTest, ACancelledForwardStopsBetweenBlocksAndTheNextIsWhole) {
  const auto dit = open();
  const CancelToken cancel;
  Session session(dit, {1, 2, 2}, {}, cancel), other(dit, {1, 2, 2});
  const RefinedText text = refine(session, 2);
  std::int64_t blocks = 0;
  expect_error(ErrorKind::kCancelled, {"cancelled"}, [&] {
    forward(session, text, [&](std::int64_t done, std::int64_t total, const RowsView&) {
      EXPECT_EQ(total, 2);
      blocks = done;
      cancel.cancel();
    });
  });
  EXPECT_EQ(blocks, 1);
  expect_error(ErrorKind::kCancelled, {}, [&] { forward(session, text); });
  EXPECT_EQ(forward(other, text).size(), 48U * 4);
}

TEST_F(DitTest, MemoryComesFromTheContextsAllocatorAndGoesBack) {
  std::size_t held = 0, most = 0;
  ExecutionContext context;
  context.allocator.allocate = [&](std::size_t bytes) {
    held += bytes;
    most = std::max(most, held);
    return std::aligned_alloc(256, bytes);
  };
  context.allocator.deallocate = [&](void* pointer, std::size_t bytes) {
    held -= bytes;
    std::free(pointer);
  };
  {
    Session session(open(), {2, 4, 4}, context);
    forward(session, refine(session, 5));
    EXPECT_EQ(session.planned_bytes(), held);
  }
  EXPECT_GT(most, 0U);
  EXPECT_EQ(held, 0U);
}

TEST_F(DitTest, SizesThatPatchesDoNotFillAreRefused) {
  const auto dit = open();
  expect_error(ErrorKind::kInvalidArgument, {"3 x 2", "1 x 2 x 2"},
               [&] { Session(dit, {1, 3, 2}); });
  expect_error(ErrorKind::kInvalidArgument, {"0 frames"}, [&] { Session(dit, {0, 2, 2}); });
}

TEST_F(DitTest, HiddenStatesOfAnotherWidthAreRefused) {
  Session session(open(), {1, 2, 2});
  std::vector<float> states(48);
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{2, 12}, {0, 24}, {24}}) {
    expect_error(ErrorKind::kInvalidArgument, {"expected [tokens, 24]"}, [&] {
      (void)session.refine(TensorView::dense(states.data(), DType::kF32, shape));
    });
  }
}

TEST_F(DitTest, AGpuIsRefused) {
  const auto dit = open();
  expect_error(ErrorKind::kUnsupported, {"CPU"},
               [&] { Session(dit, {1, 2, 2}, {.device = {.kind = DeviceKind::kCuda}}); });
}

}  // namespace
}  // namespace pantograph::pan2_dit
