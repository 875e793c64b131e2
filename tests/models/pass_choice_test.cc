// Which pass is taken for which memory, with made-up sizes: no device is asked.
#include "models/wan_vae/pass_choice.h"

#include <gtest/gtest.h>

#include <limits>

namespace pantograph::wan_vae {
namespace {

using ops::Thrift;

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
const std::vector<Thrift> kAll = {Thrift::kNone, Thrift::kSome, Thrift::kMost};

// Sessions of 2 for each frame of a pass and 1 for each of a group; weights of 53, 33 and 22.
PassPlan plan_of(const PassSize& size, Thrift thrift) {
  const std::size_t weights[] = {53, 33, 22};
  return {.size = size,
          .thrift = thrift,
          .bytes = static_cast<std::size_t>(2 * size.latent_frames + size.group_frames),
          .weight_bytes = weights[static_cast<std::size_t>(thrift)]};
}

struct Choice {
  std::int64_t frames, group;
  Thrift thrift;
  auto operator<=>(const Choice&) const = default;
};
void PrintTo(const Choice& c, std::ostream* out) {
  *out << c.frames << " frames, groups of " << c.group << ", thrift " << static_cast<int>(c.thrift);
}

std::optional<Choice> choose(const PassSizes& passes, std::size_t room, std::size_t usual = kAny,
                             const std::vector<Thrift>& thrifts = kAll) {
  const auto plan = first_fitting(passes, thrifts, usual, [&](const PassSize& s, Thrift thrift) {
    const PassPlan p = plan_of(s, thrift);
    return p.bytes + p.weight_bytes <= room ? std::optional(p) : std::nullopt;
  });
  if (!plan) return std::nullopt;
  return Choice{plan->size.latent_frames, plan->size.group_frames, plan->thrift};
}

const PassSizes kFree = pass_sizes(DeviceKind::kCuda, 0, 0);

TEST(FirstFitting, PrefersSmallerWeightsToPoorPasses) {
  const struct {
    std::size_t room;
    std::optional<Choice> choice;
  } cases[] = {
      {1000, Choice{8, 8, Thrift::kNone}}, {77, Choice{8, 8, Thrift::kNone}},
      {76, Choice{4, 8, Thrift::kNone}},   {68, Choice{4, 4, Thrift::kNone}},
      {61, Choice{2, 4, Thrift::kNone}},  // {1, 4} of 59 would fit as well
      {60, Choice{8, 8, Thrift::kSome}},   {56, Choice{4, 8, Thrift::kSome}},
      {41, Choice{2, 4, Thrift::kSome}},   {40, Choice{4, 8, Thrift::kMost}},
      {30, Choice{2, 4, Thrift::kMost}},   {28, Choice{1, 4, Thrift::kMost}},
      {25, Choice{1, 1, Thrift::kMost}},   {24, std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(choose(kFree, c.room), c.choice) << c.room;
}

// Without a limit a large frame's session may be more than usual: not for lack of memory.
TEST(FirstFitting, KeepsTheLargeWeightsWhereOnlyTheUsualIsExceeded) {
  EXPECT_EQ(choose(kFree, 1000, 24), (Choice{8, 8, Thrift::kNone}));
  EXPECT_EQ(choose(kFree, 1000, 7), (Choice{1, 4, Thrift::kNone}));
  EXPECT_EQ(choose(kFree, 1000, 3), (Choice{1, 1, Thrift::kNone}));
  EXPECT_EQ(choose(kFree, 1000, 2), (Choice{1, 1, Thrift::kNone}));  // the smallest
  EXPECT_EQ(choose(kFree, 61, 7), (Choice{1, 4, Thrift::kNone}));
  EXPECT_EQ(choose(kFree, 60, 7), (Choice{1, 4, Thrift::kSome}));
}

TEST(FirstFitting, TriesEveryPassWhereWeightsHaveOneSize) {
  EXPECT_EQ(choose(kFree, 59, kAny, {Thrift::kNone}), (Choice{1, 4, Thrift::kNone}));
  EXPECT_EQ(choose(kFree, 56, kAny, {Thrift::kNone}), (Choice{1, 1, Thrift::kNone}));
  EXPECT_EQ(choose(kFree, 55, kAny, {Thrift::kNone}), std::nullopt);
}

TEST(FirstFitting, MeasuresNothingAfterTheFirstThatSuits) {
  int measured = 0;
  const auto count = [&](const PassSize& size, Thrift thrift) {
    ++measured;
    return std::optional(plan_of(size, thrift));
  };
  (void)first_fitting(kFree, kAll, kAny, count);
  EXPECT_EQ(measured, 1);
  const auto refuse = [&](const PassSize&, Thrift) {
    ++measured;
    return std::optional<PassPlan>();
  };
  measured = 0;
  EXPECT_EQ(first_fitting(kFree, kAll, kAny, refuse), std::nullopt);
  EXPECT_EQ(measured, 4 + 4 + 9);
}

TEST(PassSizes, KeepToTheFramesThatAreAskedForAndThere) {
  for (const DeviceKind device : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    for (const std::int64_t frames : {1, 3, 50}) {
      const PassSizes passes = pass_sizes(device, 0, frames);
      ASSERT_FALSE(passes.sizes.empty());
      for (const PassSize& size : passes.sizes) EXPECT_EQ(size.latent_frames, frames);
      EXPECT_EQ(choose(pass_sizes(DeviceKind::kCuda, 0, frames), 1000),
                (Choice{frames, 8, Thrift::kNone}));
    }
    for (const PassSize& size : pass_sizes(device, 2, 0).sizes) EXPECT_LE(size.latent_frames, 2);
    for (const PassSize& size : pass_sizes(device, 2, 7).sizes) EXPECT_EQ(size.latent_frames, 2);
  }
  // Groups of 8 or 4, then smaller weights, then smaller groups.
  const PassSizes two = pass_sizes(DeviceKind::kCuda, 0, 2);
  EXPECT_EQ(choose(two, 61), (Choice{2, 4, Thrift::kNone}));
  EXPECT_EQ(choose(two, 60), (Choice{2, 8, Thrift::kSome}));
  EXPECT_EQ(choose(two, 27), (Choice{2, 1, Thrift::kMost}));
}

}  // namespace
}  // namespace pantograph::wan_vae
