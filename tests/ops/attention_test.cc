#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::HostFrames;
using test::OpRunner;

// Query `i` of frame `t`, in double.
std::vector<double> attend(HostFrames& qkv, std::int64_t t, std::int64_t i) {
  const std::int64_t channels = qkv.view.channels / 3;
  const std::int64_t positions = qkv.view.height * qkv.view.width;
  const auto value = [&](std::int64_t position, std::int64_t c) {
    return double{qkv.at(t, position / qkv.view.width, position % qkv.view.width, c)};
  };
  std::vector<double> scores(static_cast<std::size_t>(positions));
  for (std::int64_t j = 0; j < positions; ++j) {
    double dot = 0;
    for (std::int64_t c = 0; c < channels; ++c) dot += value(i, c) * value(j, channels + c);
    scores[static_cast<std::size_t>(j)] = dot / std::sqrt(static_cast<double>(channels));
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  std::vector<double> y(static_cast<std::size_t>(channels), 0);
  for (std::int64_t j = 0; j < positions; ++j) {
    for (std::int64_t c = 0; c < channels; ++c) {
      y[static_cast<std::size_t>(c)] +=
          scores[static_cast<std::size_t>(j)] / sum * value(j, 2 * channels + c);
    }
  }
  return y;
}

void expect_attention(std::int64_t frames, std::int64_t height, std::int64_t width,
                      std::int64_t channels, float sharpness, std::int64_t stride = 1) {
  HostFrames qkv(frames, height, width, 3 * channels), y(frames, height, width, channels);
  qkv.fill_normal(5);
  for (float& value : qkv.values) value *= sharpness;
  OpRunner().run([&](const Context& context) { frame_attention(context, qkv.view, y.view); });
  for (std::int64_t t = 0; t < frames; ++t) {
    for (std::int64_t i = 0; i < height * width; i += stride) {
      const std::vector<double> expected = attend(qkv, t, i);
      for (std::int64_t c = 0; c < channels; ++c) {
        ASSERT_NEAR(y.at(t, i / width, i % width, c), expected[static_cast<std::size_t>(c)],
                    2e-6 * sharpness * sharpness * sharpness)
            << t << " " << i << " " << c;
      }
    }
  }
  for (const float value : y.values) ASSERT_TRUE(std::isfinite(value));
}

TEST(FrameAttention, IsASoftmaxInDouble) {
  expect_attention(1, 1, 1, 4, 1);
  expect_attention(3, 1, 2, 12, 1);
  expect_attention(2, 3, 5, 32, 1);
  expect_attention(1, 9, 16, 48, 1);
}

TEST(FrameAttention, LargeScoresDoNotOverflow) {
  expect_attention(1, 4, 4, 16, 8);
}

TEST(FrameAttention, MorePositionsThanABlockOfQueries) {
  expect_attention(1, 25, 41, 6, 1, 7);   // one more than a block
  expect_attention(2, 32, 70, 4, 1, 13);  // more than two
}

TEST(FrameAttention, FramesDoNotSeeEachOther) {
  HostFrames both(2, 2, 3, 12), one(1, 2, 3, 12), y(2, 2, 3, 4), alone(1, 2, 3, 4);
  both.fill_normal(1);
  std::copy_n(both.values.begin() + 72, 72, one.values.begin());
  OpRunner().run([&](const Context& context) {
    frame_attention(context, both.view, y.view);
    frame_attention(context, one.view, alone.view);
  });
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(y.values[24 + i], alone.values[i]) << i;
}

TEST(FrameAttention, ScoresAreMadeForABlockOfQueriesAtATime) {
  HostFrames qkv(1, 64, 128, 3), y(1, 64, 128, 1);
  OpRunner runner;
  runner.plan([&](const Context& context) { frame_attention(context, qkv.view, y.view); });
  const auto scores = static_cast<std::size_t>(kQueryBlock * 64 * 128) * sizeof(float);
  EXPECT_GE(runner.arena().peak(), scores);
  EXPECT_LT(runner.arena().peak(), 2 * scores);
}

TEST(FrameAttention, ShapesThatDoNotFitAreADefect) {
  HostFrames qkv(1, 2, 2, 11), y(1, 2, 2, 4);
  expect_error(ErrorKind::kInternal, {"frame_attention"}, [&] {
    OpRunner().run([&](const Context& context) { frame_attention(context, qkv.view, y.view); });
  });
}

}  // namespace
}  // namespace pantograph::ops
