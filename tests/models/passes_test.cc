// Passes, pushes and groups of frames are a matter of memory and time: the video is the same.
#include "models/vae_test.h"
#include "pantograph/error.h"

namespace pantograph {
namespace {

using test::CollectingSink;
using test::decode;
using test::decode_pushed;
using test::golden;
using test::kRounding;
using test::largest_difference;
using test::Latents;

class Passes : public testing::TestWithParam<const char*> {
 protected:
  const Vae vae_ = Vae::open(golden(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(All, Passes, testing::Values("tiny", "odd"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Passes, OfAnySizeGiveTheSameFrames) {
  const Latents latents(6, 2, 1);
  DecodeOptions options;
  options.frames_per_pass = 6;
  const std::vector<float> expected = decode(vae_, latents.view, options);
  EXPECT_EQ(expected.size(), 21U * 32 * 16 * 3);
  for (const std::int64_t frames : {1, 2, 3, 5, 50}) {
    options.frames_per_pass = frames;
    EXPECT_LE(largest_difference(decode(vae_, latents.view, options), expected), kRounding)
        << frames;
  }
}

TEST_P(Passes, PushesOfAnySizesGiveTheSameFrames) {
  const Latents latents(6, 1, 2);
  const std::vector<float> expected = decode(vae_, latents.view);
  for (const std::int64_t frames : {1, 4}) {
    DecodeOptions options;
    options.frames_per_pass = frames;
    for (const std::vector<std::int64_t>& pushes : std::vector<std::vector<std::int64_t>>{
             {1, 1, 1, 1, 1, 1}, {1, 5}, {2, 3, 1}, {0, 3, 0, 3, 0}}) {
      EXPECT_LE(largest_difference(decode_pushed(vae_, latents.view, pushes, options), expected),
                kRounding)
          << frames << " a pass, " << pushes.size() << " pushes";
    }
  }
}

// Less memory allowed, the last levels work on fewer frames at a time.
TEST_P(Passes, InLessMemoryGiveTheSameFrames) {
  const Latents latents(6, 2, 3);
  for (const std::int64_t frames : {1, 4}) {
    DecodeOptions options;
    options.frames_per_pass = frames;
    const std::vector<float> expected = decode(vae_, latents.view, options);
    const DecodePlan plan = vae_.plan(2, 3, options);
    std::size_t bytes = plan.bytes;
    int smaller = 0;
    try {
      while (true) {
        options.memory_limit = bytes + plan.weight_bytes - 1;
        const DecodeStatistics statistics = [&] {
          CollectingSink sink;
          const DecodeStatistics found = vae_.decode(latents.view, sink, options);
          EXPECT_LE(largest_difference(sink.pixels, expected), kRounding)
              << frames << " a pass in " << found.planned_bytes;
          return found;
        }();
        EXPECT_EQ(statistics.frames_per_pass, frames);
        ASSERT_LT(statistics.planned_bytes, bytes);
        bytes = statistics.planned_bytes;
        ++smaller;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
    }
    EXPECT_GE(smaller, 1) << frames;
  }
}

TEST_P(Passes, TheFirstLatentFramesDecodeToAPrefix) {
  const Latents latents(4, 2, 1);
  const std::vector<float> all = decode(vae_, latents.view);
  const std::size_t frame = 32 * 16 * 3;
  for (std::int64_t count = 1; count <= 4; ++count) {
    const std::vector<float> some = decode(vae_, latents.view.slice(1, 0, count));
    ASSERT_EQ(some.size(), static_cast<std::size_t>(4 * count - 3) * frame);
    EXPECT_LE(largest_difference(
                  some, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some.size())}),
              kRounding)
        << count;
  }
}

TEST_P(Passes, TheFirstFrameIsSpecialOnlyByItsPlace) {
  // A clip whose first frame differs decodes differently everywhere that sees it, and nowhere else.
  const Latents latents(4, 1, 1);
  Latents other(4, 1, 1);
  for (std::size_t c = 0; c < 48; ++c) other.values[4 * c + 3] += 1;
  const std::vector<float> a = decode(vae_, latents.view), b = decode(vae_, other.view);
  const std::ptrdiff_t before = 9 * 16 * 16 * 3;
  EXPECT_LE(largest_difference({a.begin(), a.begin() + before}, {b.begin(), b.begin() + before}),
            kRounding);
  EXPECT_GT(largest_difference({a.begin() + before, a.end()}, {b.begin() + before, b.end()}), 0.01);
}

TEST_P(Passes, ShapesAsUsersHaveThemNeedNoMoreThanWasPlanned) {
  for (const auto& [height, width] : {std::pair{1, 7}, {5, 3}}) {
    const Latents latents(6, height, width);
    DecodeOptions options;
    options.frames_per_pass = 4;
    for (int smaller = 0; smaller < 2; ++smaller) {
      EXPECT_EQ(decode_pushed(vae_, latents.view, {1, 3, 2}, options).size(),
                static_cast<std::size_t>(21 * 16 * height * 16 * width * 3));
      options.memory_limit = vae_.plan(height, width, options).total_bytes() - 1;
    }
  }
}

TEST_P(Passes, ThreadsDoNotChangeTheFrames) {
  const Latents latents(2, 3, 2);
  DecodeOptions options;
  options.context.threads = 1;
  const std::vector<float> expected = decode(vae_, latents.view, options);
  for (const int threads : {0, 2}) {
    options.context.threads = threads;
    EXPECT_LE(largest_difference(decode(vae_, latents.view, options), expected), kRounding);
  }
}

}  // namespace
}  // namespace pantograph
