// The encoder against diffusers in fp32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "support/expect_error.h"
#include "support/golden_clip.h"

namespace pantograph {
namespace {

using test::golden;

constexpr double kTolerance = 1e-4;

struct Encoded {
  std::string checkpoint, clip;
};

void PrintTo(const Encoded& encoded, std::ostream* out) {
  *out << encoded.checkpoint << "/" << encoded.clip;
}

// A video [3, F, H, W] as frames [F, H, W, 3].
std::vector<float> channels_last(const TensorView& video) {
  const std::int64_t positions = video.elements() / 3;
  std::vector<float> frames(static_cast<std::size_t>(video.elements()));
  const auto* source = static_cast<const float*>(video.data);
  for (std::int64_t i = 0; i < positions; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      frames[static_cast<std::size_t>(3 * i + k)] = source[k * positions + i];
    }
  }
  return frames;
}

// Latent frames [m][C, h, w], as they came.
struct Collected {
  std::vector<std::vector<float>> frames;
  LatentCallback callback() {
    return [this](const TensorView& latents) {
      const std::int64_t plane = latents.shape[2] * latents.shape[3];
      for (std::int64_t t = 0; t < latents.shape[1]; ++t) {
        std::vector<float> frame;
        for (std::int64_t c = 0; c < latents.shape[0]; ++c) {
          const auto* begin =
              static_cast<const float*>(latents.data) + (c * latents.shape[1] + t) * plane;
          frame.insert(frame.end(), begin, begin + plane);
        }
        frames.push_back(std::move(frame));
      }
    };
  }
};

double largest_difference(const Collected& collected, const TensorView& latents) {
  const std::int64_t frames = latents.shape[1], plane = latents.shape[2] * latents.shape[3];
  if (static_cast<std::int64_t>(collected.frames.size()) != frames) return 1e9;
  const auto* expected = static_cast<const float*>(latents.data);
  double largest = 0;
  for (std::int64_t i = 0; i < latents.elements(); ++i) {
    const std::int64_t c = i / plane / frames, t = i / plane % frames, position = i % plane;
    const double found =
        collected
            .frames[static_cast<std::size_t>(t)][static_cast<std::size_t>(c * plane + position)];
    const double difference = std::abs(found - expected[i]);
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

class GoldenEncode : public testing::TestWithParam<Encoded> {
 protected:
  GoldenEncode()
      : vae_(Vae::open(golden(GetParam().checkpoint))),
        file_(SafetensorsFile::open(golden(GetParam().checkpoint) / "encoded" /
                                    (GetParam().clip + ".safetensors"))),
        video_(file_.view("video")),
        pixels_(channels_last(video_)) {}

  [[nodiscard]] TensorView frames(std::int64_t begin, std::int64_t count) {
    const std::int64_t height = video_.shape[2], width = video_.shape[3];
    return TensorView::dense(pixels_.data() + begin * height * width * 3, DType::kF32,
                             {count, height, width, 3});
  }

  Vae vae_;
  SafetensorsFile file_;
  TensorView video_;
  std::vector<float> pixels_;
};

TEST_P(GoldenEncode, GivesTheMeanThatDiffusersGives) {
  EncodeSession session =
      vae_.encode_session(video_.shape[2], video_.shape[3], {.clip_frames = video_.shape[1]});
  Collected collected;
  session.push(frames(0, video_.shape[1]), collected.callback());
  session.finish();
  EXPECT_LE(largest_difference(collected, file_.view("latents")), kTolerance);
}

TEST_P(GoldenEncode, FramesMayComeOneAtATime) {
  EncodeSession session = vae_.encode_session(video_.shape[2], video_.shape[3]);
  Collected collected;
  for (std::int64_t i = 0; i < video_.shape[1]; ++i)
    session.push(frames(i, 1), collected.callback());
  session.finish();
  EXPECT_LE(largest_difference(collected, file_.view("latents")), kTolerance);
}

TEST_P(GoldenEncode, NormalizedLatentsAreRawOnesLessMeanOverStd) {
  EncodeSession session =
      vae_.encode_session(video_.shape[2], video_.shape[3], {.scale = LatentScale::kNormalized});
  Collected collected;
  session.push(frames(0, video_.shape[1]), collected.callback());
  const VaeConfig& config = vae_.config();
  for (std::vector<float>& frame : collected.frames) {
    const std::size_t plane = frame.size() / config.latents_mean.size();
    for (std::size_t i = 0; i < frame.size(); ++i) {
      frame[i] = static_cast<float>(frame[i] * config.latents_std[i / plane] +
                                    config.latents_mean[i / plane]);
    }
  }
  EXPECT_LE(largest_difference(collected, file_.view("latents")), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenEncode,
                         testing::Values(Encoded{"encoder", "f1_16x16"},
                                         Encoded{"encoder", "f5_32x16"},
                                         Encoded{"encoder", "f9_16x32"}, Encoded{"odd", "f1_16x16"},
                                         Encoded{"odd", "f5_32x16"}, Encoded{"odd", "f9_16x32"}));

TEST(VaeEncode, SizesThatAreNoMultipleOfTheFactorAreRefusedWithTheNearest) {
  const Vae vae = Vae::open(golden("encoder"));
  test::expect_error(ErrorKind::kInvalidArgument, {"the nearest are 704 x 1248"},
                     [&] { (void)vae.encode_session(700, 1250); });
}

TEST(VaeEncode, FrameCountsOffTheGridAreRefusedWithTheNearest) {
  const Vae vae = Vae::open(golden("encoder"));
  EncodeSession session = vae.encode_session(16, 16);
  std::vector<float> pixels(7 * 16 * 16 * 3);
  session.push(TensorView::dense(pixels.data(), DType::kF32, {7, 16, 16, 3}),
               [](const TensorView&) {});
  test::expect_error(ErrorKind::kInvalidArgument, {"the nearest are 5 and 9"},
                     [&] { session.finish(); });
}

TEST(VaeEncode, AFrameAloneTakesLess) {
  const Vae vae = Vae::open(golden("encoder"));
  const auto taken = [&](std::int64_t clip_frames) {
    std::size_t bytes = 0;
    EncodeOptions options{.clip_frames = clip_frames};
    options.context.allocator = {
        .allocate = [&](std::size_t more) -> void* {
          bytes += more;
          return std::aligned_alloc(256, (more + 255) / 256 * 256);
        },
        .deallocate = [](void* pointer, std::size_t) { std::free(pointer); }};
    (void)vae.encode_session(32, 32, options);
    return bytes;
  };
  EXPECT_LT(taken(1), taken(0) / 2);
  EXPECT_EQ(taken(5), taken(0));
}

TEST(VaeEncode, NoMoreIsPushedThanWasPlannedFor) {
  const Vae vae = Vae::open(golden("encoder"));
  std::vector<float> pixels(2 * 16 * 16 * 3);
  EncodeSession session = vae.encode_session(16, 16, {.clip_frames = 1});
  test::expect_error(ErrorKind::kInvalidArgument,
                     {"2 frames were pushed after 0 of a clip that was to have 1"}, [&] {
                       session.push(TensorView::dense(pixels.data(), DType::kF32, {2, 16, 16, 3}),
                                    [](const TensorView&) {});
                     });
  test::expect_error(ErrorKind::kInvalidArgument, {"a clip of -1 frames"},
                     [&] { (void)vae.encode_session(16, 16, {.clip_frames = -1}); });
}

TEST(VaeEncode, ACheckpointWithoutEncoderSaysSo) {
  const Vae vae = Vae::open(golden("tiny"));
  test::expect_error(ErrorKind::kNotFound, {"encoder.conv_in.weight is missing"},
                     [&] { (void)vae.encode_session(16, 16); });
}

TEST(VaeEncode, PixelsThatAreNoNumbersAreRefusedByFrame) {
  const Vae vae = Vae::open(golden("encoder"));
  EncodeSession session = vae.encode_session(16, 16);
  std::vector<float> pixels(3 * 16 * 16 * 3);
  pixels[2 * 16 * 16 * 3] = std::numeric_limits<float>::quiet_NaN();
  const TensorView frames = TensorView::dense(pixels.data(), DType::kF32, {3, 16, 16, 3});
  test::expect_error(ErrorKind::kInvalidArgument, {"frame 2 holds NaN"},
                     [&] { session.push(frames, [](const TensorView&) {}); });
}

}  // namespace
}  // namespace pantograph
