// The decoder on Hopper's fast kernels, with as many channels as they want, against the f32 path.
#include <cmath>
#include <memory>
#include <set>

#include "checkpoint/safetensors.h"
#include "hopper.h"
#include "models/wan_vae/config.h"
#include "models/wan_vae/synthetic.h"
#include "support/expect_error.h"
#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::CollectingSink;
using test::expect_error;
using test::kGpu;

// Of the released decoder: bf16 with 8 bits through all its layers (see decode_test.cc).
constexpr double kMostRms = 0.01;

DecodeOptions with(Precision precision, Algorithm algorithm = Algorithm::kAuto) {
  return {.precision = precision, .algorithm = algorithm, .context = {.device = kGpu}};
}
const DecodeOptions kFast = with(Precision::kBF16, Algorithm::kFast);

// 1024 channels, then 512, 512 and 256: all pairs that the released decoder has, in fewer blocks.
VaeConfig wide_config() {
  VaeConfig config = wan_vae::tiny_config();
  config.decoder_base_channels = 256;
  config.channel_multipliers = {1, 2, 2, 4};
  config.residual_blocks = 1;
  return config;
}

std::vector<float> decode(const Vae& vae, const TensorView& latents, const DecodeOptions& options) {
  CollectingSink sink;
  vae.decode(latents, sink, options);
  return sink.pixels;
}

// Of the values that the shorter one has.
double rms(const std::vector<float>& a, const std::vector<float>& b) {
  const std::size_t count = std::min(a.size(), b.size());
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(sum / static_cast<double>(count));
}

class FastDecode : public test::OnHopper {
 protected:
  static void SetUpTestSuite() {
    if (!is_hopper(device::require_gpu(kGpu.index))) return;
    folder_ = std::make_unique<test::TempDir>();
    wan_vae::make_checkpoint(*folder_ / "vae", wide_config(), 1, DType::kBF16);
    vae_ = std::make_unique<Vae>(Vae::open(*folder_ / "vae"));
  }
  static void TearDownTestSuite() {
    vae_.reset();
    folder_.reset();
  }

  static const Vae& vae() { return *vae_; }
  static SafetensorsFile latents(std::int64_t frames, std::int64_t height, std::int64_t width,
                                 std::uint64_t seed = 2) {
    const auto file = *folder_ / "latents.safetensors";
    wan_vae::make_latents(file, frames, height, width, seed, DType::kF32);
    return SafetensorsFile::open(file);
  }

 private:
  inline static std::unique_ptr<test::TempDir> folder_;
  inline static std::unique_ptr<Vae> vae_;
};

struct Size {
  std::int64_t height, width;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.height << " x " << size.width;
}

class FastDecodeOf : public FastDecode, public testing::WithParamInterface<Size> {};

TEST_P(FastDecodeOf, KeepsToTheF32Path) {
  constexpr std::int64_t kFrames = 5;
  const auto [height, width] = GetParam();
  const std::size_t frame = static_cast<std::size_t>(height * width) * 16 * 16 * 3;
  for (const std::uint64_t seed : {2, 3}) {  // as the two clips of a batch
    const SafetensorsFile file = latents(kFrames, height, width, seed);
    const TensorView clip = file.view("latents");
    const std::vector<float> expected = decode(vae(), clip, with(Precision::kF32));
    ASSERT_EQ(expected.size(), frame * static_cast<std::size_t>(4 * kFrames - 3));
    // The decode is causal: shorter clips are its beginning.
    for (const std::int64_t frames : {std::int64_t{1}, std::int64_t{2}, kFrames}) {
      const std::vector<float> video = decode(vae(), clip.slice(1, 0, frames), kFast);
      ASSERT_EQ(video.size(), frame * static_cast<std::size_t>(4 * frames - 3));
      EXPECT_LE(rms(video, expected), kMostRms) << frames << " latent frames, seed " << seed;
    }
  }
}

TEST_P(FastDecodeOf, TakesAFrameAtATime) {
  constexpr std::int64_t kFrames = 5;
  const auto [height, width] = GetParam();
  const SafetensorsFile file = latents(kFrames, height, width);
  const TensorView clip = file.view("latents");
  const std::vector<float> whole = decode(vae(), clip, kFast);
  // Two sessions take turns, one of them a frame ahead: they share weights and nothing else.
  CollectingSink one, other;
  DecodeSession session = vae().decode_session(height, width, kFast);
  DecodeSession ahead = vae().decode_session(height, width, kFast);
  ahead.push(clip.slice(1, 0, 1), other);
  for (std::int64_t i = 0; i < kFrames; ++i) {
    session.push(clip.slice(1, i, 1), one);
    if (i + 1 < kFrames) ahead.push(clip.slice(1, i + 1, 1), other);
  }
  ASSERT_EQ(one.pixels.size(), whole.size());
  EXPECT_EQ(other.pixels, one.pixels);
  // The few convolutions that are cuDNN's may run by another engine, which rounds otherwise but no
  // worse.
  const std::vector<float> expected = decode(vae(), clip, with(Precision::kF32));
  EXPECT_LE(rms(one.pixels, expected), 1.1 * rms(whole, expected));
}

INSTANTIATE_TEST_SUITE_P(Small, FastDecodeOf, testing::Values(Size{1, 1}, Size{5, 4}));
INSTANTIATE_TEST_SUITE_P(Large, FastDecodeOf,
                         testing::Values(Size{30, 52}, Size{52, 30}, Size{44, 80}, Size{45, 80}));

TEST_F(FastDecode, IsWhatAutoTakesAndTheSameEveryTime) {
  const SafetensorsFile file = latents(3, 6, 10);
  const std::vector<float> fast = decode(vae(), file.view("latents"), kFast);
  EXPECT_EQ(decode(vae(), file.view("latents"), with(Precision::kBF16)), fast);
  EXPECT_EQ(decode(vae(), file.view("latents"), kFast), fast);
}

// Less exact arithmetic would be no fair exchange for speed.
TEST_F(FastDecode, ErrsNoMoreThanTheGeneralAlgorithm) {
  const SafetensorsFile file = latents(2, 22, 39);
  const TensorView clip = file.view("latents");
  const std::vector<float> expected = decode(vae(), clip, with(Precision::kF32));
  const std::vector<float> general =
      decode(vae(), clip, with(Precision::kBF16, Algorithm::kGeneral));
  const std::vector<float> fast = decode(vae(), clip, kFast);
  EXPECT_NE(fast, general);
  EXPECT_LE(rms(general, expected), kMostRms);
  EXPECT_LE(rms(fast, expected), 1.5 * rms(general, expected));
}

// With less and less memory, weights are of all three sizes.
TEST_F(FastDecode, InLessMemoryKeepsToTheF32Path) {
  constexpr std::int64_t kFrames = 5, kHeight = 22, kWidth = 39;
  const SafetensorsFile file = latents(kFrames, kHeight, kWidth);
  const TensorView clip = file.view("latents");
  const std::vector<float> expected = decode(vae(), clip, with(Precision::kF32));
  DecodeOptions options = kFast;
  options.clip_frames = kFrames;
  std::set<std::size_t> weights;
  try {
    while (true) {
      const DecodePlan plan = vae().plan(kHeight, kWidth, options);
      if (options.memory_limit > 0) {
        ASSERT_LE(plan.total_bytes(), options.memory_limit);
      }
      weights.insert(plan.weight_bytes);
      CollectingSink sink;
      EXPECT_EQ(vae().decode(clip, sink, options).planned_bytes, plan.bytes);
      EXPECT_LE(rms(sink.pixels, expected), kMostRms) << "in " << plan.total_bytes();
      options.memory_limit = plan.total_bytes() - 1;
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
  }
  EXPECT_EQ(weights.size(), 3U);
}

TEST_F(FastDecode, IsRefusedWhereItCannotBe) {
  const SafetensorsFile file = latents(1, 2, 3);
  expect_error(
      ErrorKind::kUnsupported, {"no fast convolution", "in f32 on GPU 0", "bf16 only"},
      [&] { decode(vae(), file.view("latents"), with(Precision::kF32, Algorithm::kFast)); });
  test::TempDir folder;
  wan_vae::make_checkpoint(folder / "vae", wan_vae::tiny_config(), 1, DType::kBF16);
  const Vae narrow = Vae::open(folder / "vae");
  expect_error(ErrorKind::kUnsupported, {"32 -> 32 channels in bf16", "channels only"},
               [&] { decode(narrow, file.view("latents"), kFast); });
  EXPECT_FALSE(decode(narrow, file.view("latents"), with(Precision::kBF16)).empty());
}

}  // namespace
}  // namespace pantograph
