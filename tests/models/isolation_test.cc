// One Vae, many decodes: none sees another, and a failed one leaves nothing behind.
#include <stdexcept>
#include <thread>

#include "models/vae_test.h"
#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::CollectingSink;
using test::decode;
using test::expect_error;
using test::golden;
using test::kRounding;
using test::largest_difference;
using test::Latents;

TEST(Isolation, TwoSessionsInterleavedDecodeAsOneAfterTheOther) {
  const Vae vae = Vae::open(golden("tiny"));
  const Latents a(3, 2, 1, 1), b(3, 1, 3, 2);
  DecodeOptions options;
  options.frames_per_pass = 1;
  const std::vector<float> expected_a = decode(vae, a.view, options);
  const std::vector<float> expected_b = decode(vae, b.view, options);
  DecodeSession session_a = vae.decode_session(2, 1, options);
  DecodeSession session_b = vae.decode_session(1, 3, options);
  CollectingSink sink_a, sink_b;
  for (std::int64_t t = 0; t < 3; ++t) {
    session_a.push(a.view.slice(1, t, 1), sink_a);
    session_b.push(b.view.slice(1, t, 1), sink_b);
  }
  EXPECT_EQ(sink_a.pixels, expected_a);
  EXPECT_EQ(sink_b.pixels, expected_b);
}

TEST(Isolation, SessionsInSeveralThreadsDecodeAsOneDoes) {
  const Vae reference = Vae::open(golden("tiny"));
  const Latents clips[] = {{3, 2, 2, 1}, {3, 1, 1, 2}, {2, 3, 1, 3}, {3, 2, 2, 4}};
  DecodeOptions options;
  options.context.threads = 1;
  std::vector<std::vector<float>> expected, found(std::size(clips));
  for (const Latents& clip : clips) expected.push_back(decode(reference, clip.view, options));
  const Vae vae = Vae::open(golden("tiny"));  // nothing packed yet
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < std::size(clips); ++i) {
    threads.emplace_back([&, i] {
      for (int repeat = 0; repeat < 2; ++repeat) found[i] = decode(vae, clips[i].view, options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < std::size(clips); ++i) {
    EXPECT_LE(largest_difference(found[i], expected[i]), kRounding) << i;
  }
}

TEST(Isolation, OneProcessHoldsSeveralVaes) {
  const Latents clip(2, 1, 2);
  const std::vector<float> tiny = decode(Vae::open(golden("tiny")), clip.view);
  const std::vector<float> odd = decode(Vae::open(golden("odd")), clip.view);
  const Vae first = Vae::open(golden("tiny")), second = Vae::open(golden("odd"));
  EXPECT_EQ(decode(first, clip.view), tiny);
  EXPECT_EQ(decode(second, clip.view), odd);
  EXPECT_EQ(decode(first, clip.view), tiny);
  EXPECT_GT(largest_difference(tiny, odd), 0.01);
}

TEST(Isolation, ASessionOutlivesTheVaeItCameFrom) {
  const Latents clip(2, 1, 1);
  const std::vector<float> expected = decode(Vae::open(golden("odd")), clip.view);
  DecodeSession session = Vae::open(golden("odd")).decode_session(1, 1);
  DecodeSession moved = std::move(session);
  CollectingSink sink;
  moved.push(clip.view, sink);
  EXPECT_EQ(sink.pixels, expected);
}

// The bits a decode gives do not depend on what was decoded before.
class AfterAnything : public testing::Test {
 protected:
  void expect_fresh(const Vae& vae) {
    for (const Latents* clip : {&clip_, &wide_}) {
      EXPECT_EQ(decode(vae, clip->view), decode(Vae::open(golden("tiny")), clip->view));
    }
  }
  const Latents clip_{3, 2, 2}, wide_{2, 3, 9, 2};
};

TEST_F(AfterAnything, AClipOfAnotherSize) {
  const Vae vae = Vae::open(golden("tiny"));
  for (const auto& [t, h, w] : {std::array{1, 1, 1}, {5, 1, 1}, {2, 7, 3}, {1, 9, 9}}) {
    decode(vae, Latents(t, h, w).view);
  }
  expect_fresh(vae);
}

TEST_F(AfterAnything, ACancelledDecode) {
  const Vae vae = Vae::open(golden("tiny"));
  class CancellingSink final : public FrameSink {
   public:
    explicit CancellingSink(CancelToken token) : token_(std::move(token)) {}
    void write(const TensorView& frames) override {
      written += frames.shape[0];
      token_.cancel();
    }
    std::int64_t written = 0;

   private:
    CancelToken token_;
  };
  DecodeOptions options;
  options.frames_per_pass = 1;
  CancellingSink sink(options.cancel);
  expect_error(ErrorKind::kCancelled, {"cancelled"},
               [&] { vae.decode(clip_.view, sink, options); });
  EXPECT_EQ(sink.written, 1);  // nothing after the pass in which it was cancelled
  expect_fresh(vae);
}

TEST_F(AfterAnything, ADecodeCancelledBeforeItBegan) {
  const Vae vae = Vae::open(golden("tiny"));
  DecodeOptions options;
  options.cancel.cancel();
  CollectingSink sink;
  expect_error(ErrorKind::kCancelled, {"cancelled"},
               [&] { vae.decode(clip_.view, sink, options); });
  EXPECT_EQ(sink.writes, 0);
  expect_fresh(vae);
}

TEST_F(AfterAnything, ASinkThatThrows) {
  const Vae vae = Vae::open(golden("tiny"));
  class FullDisk final : public FrameSink {
   public:
    void write(const TensorView& /*frames*/) override {
      throw Error(ErrorKind::kIo, "the disk is full");
    }
  } sink;
  DecodeSession session = vae.decode_session(2, 2);
  expect_error(ErrorKind::kIo, {"the disk is full"}, [&] { session.push(clip_.view, sink); });
  CollectingSink good;
  expect_error(ErrorKind::kInvalidArgument, {"ended with an error"},
               [&] { session.push(clip_.view, good); });
  EXPECT_EQ(good.writes, 0);
  expect_fresh(vae);
}

TEST(Progress, CountsEveryFrameOnce) {
  const Vae vae = Vae::open(golden("tiny"));
  const Latents clip(5, 1, 1);
  DecodeOptions options;
  options.frames_per_pass = 2;
  std::vector<Progress> reports;
  CollectingSink sink;
  vae.decode(clip.view, sink, options, [&](const Progress& p) { reports.push_back(p); });
  ASSERT_EQ(reports.size(), static_cast<std::size_t>(sink.writes));
  std::int64_t done = 0;
  double seconds = 0;
  for (const Progress& report : reports) {
    EXPECT_GT(report.frames_done, done);
    EXPECT_GE(report.seconds, seconds);
    EXPECT_EQ(report.frames_total, 17);
    done = report.frames_done;
    seconds = report.seconds;
  }
  EXPECT_EQ(done, 17);
  EXPECT_EQ(sink.frame_count, 17);
}

}  // namespace
}  // namespace pantograph
