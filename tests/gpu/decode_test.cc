// The decoder on a GPU: against diffusers' clips, against itself, and in the face of trouble.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "device/memory.h"
#include "media/color.h"
#include "models/wan_vae/synthetic.h"
#include "pipeline/decode_job.h"
#include "support/expect_error.h"
#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::Clip;
using test::CollectingSink;
using test::expect_error;
using test::golden;
using test::largest_difference;

constexpr Device kGpu{.kind = DeviceKind::kCuda};

// f32 sums in another order than diffusers'; bf16 with 8 bits through some 40 layers.
constexpr double kTolerance = 2e-4;

DecodeOptions on_gpu(Precision precision) {
  return {.precision = precision, .context = {.device = kGpu}};
}

std::vector<float> decode(const Vae& vae, const TensorView& latents, const DecodeOptions& options) {
  CollectingSink sink;
  vae.decode(latents, sink, options);
  return sink.pixels;
}

double rms(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 1e9;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// A small checkpoint and one clip of it.
struct Synthetic {
  test::TempDir folder;
  Vae vae;
  SafetensorsFile file;

  Synthetic(std::int64_t frames, std::int64_t height, std::int64_t width)
      : vae(open(folder.path())), file(latents(folder.path(), frames, height, width)) {}
  [[nodiscard]] TensorView clip() const { return file.view("latents"); }

 private:
  static Vae open(const std::filesystem::path& folder) {
    wan_vae::make_checkpoint(folder / "vae", wan_vae::tiny_config(), 1, DType::kBF16);
    return Vae::open(folder / "vae");
  }
  static SafetensorsFile latents(const std::filesystem::path& folder, std::int64_t frames,
                                 std::int64_t height, std::int64_t width) {
    wan_vae::make_latents(folder / "latents.safetensors", frames, height, width, 2, DType::kF32);
    return SafetensorsFile::open(folder / "latents.safetensors");
  }
};

std::size_t free_bytes() {
  return device::require_gpu(0).free_bytes;
}

class GoldenClipOnGpu : public testing::TestWithParam<Clip> {};

// By kernels of ours and cuBLAS.
TEST_P(GoldenClipOnGpu, DecodesAsDiffusersDoesInF32) {
  const Vae vae = Vae::open(golden(GetParam().checkpoint));
  for_each_video(GetParam(), [&](const TensorView& latents, const TensorView& video) {
    CollectingSink sink;
    vae.decode(latents, sink, on_gpu(Precision::kF32));
    EXPECT_LE(largest_difference(sink, video), kTolerance);
  });
}

TEST_P(GoldenClipOnGpu, StaysNearDiffusersInBf16) {
  const Vae vae = Vae::open(golden(GetParam().checkpoint));
  for_each_video(GetParam(), [&](const TensorView& latents, const TensorView& video) {
    CollectingSink sink;
    vae.decode(latents, sink, on_gpu(Precision::kBF16));
    EXPECT_LE(largest_difference(sink, video), GetParam().bf16_tolerance);
  });
}

// 1.5 times the 0.1533 by which diffusers' own bf16 decode misses this clip: 3 channels average
// little out.
constexpr double kOddT3 = 0.2299;

INSTANTIATE_TEST_SUITE_P(
    All, GoldenClipOnGpu,
    testing::Values(Clip{"tiny", "tiny", "t1_1x1"}, Clip{"tiny", "tiny", "t1_2x2"},
                    Clip{"tiny", "tiny", "t2_3x5"}, Clip{"tiny", "tiny", "t3_1x2"},
                    Clip{"tiny", "tiny", "t5_1x1"}, Clip{"tiny", "tiny", "b2_t2_1x2"},
                    Clip{"tiny", "tiny", "t2_2x1_normalized"}, Clip{"odd", "odd", "t1_1x3"},
                    Clip{"odd", "odd", "t2_1x1"}, Clip{"odd", "odd", "t3_3x1", kOddT3},
                    Clip{"odd_bf16", "odd_bf16", "t2_1x2"}, Clip{"odd_f16", "odd_f16", "t2_1x2"}));

TEST(DecodeOnGpu, AgreesWithTheCpuOnSizesThatFillNoTile) {
  for (const auto& [frames, height, width] : {std::array{2, 45, 80}, {5, 1, 1}, {3, 7, 5}}) {
    const Synthetic made(frames, height, width);
    const std::vector<float> cpu = decode(made.vae, made.clip(), {});
    EXPECT_LE(rms(decode(made.vae, made.clip(), on_gpu(Precision::kF32)), cpu), 1e-5);
    EXPECT_LE(rms(decode(made.vae, made.clip(), on_gpu(Precision::kBF16)), cpu), 0.01);
  }
}

TEST(DecodeOnGpu, RoundsToBf16WithoutLosingTheVideo) {
  const Synthetic made(5, 44, 78);
  for (const std::int64_t frames : {1, 2, 5}) {
    const TensorView clip = made.clip().slice(1, 0, frames);
    const std::vector<float> f32 = decode(made.vae, clip, on_gpu(Precision::kF32));
    EXPECT_LE(rms(decode(made.vae, clip, on_gpu(Precision::kBF16)), f32), 0.01) << frames;
  }
}

TEST(DecodeOnGpu, IsTheSameBitForBitEveryTime) {
  const Synthetic made(5, 6, 10);
  const std::vector<float> once = decode(made.vae, made.clip(), on_gpu(Precision::kBF16));
  EXPECT_EQ(decode(made.vae, made.clip(), on_gpu(Precision::kBF16)), once);
  // After a clip of another size too.
  const Synthetic other(2, 9, 4);
  decode(made.vae, other.clip(), on_gpu(Precision::kBF16));
  EXPECT_EQ(decode(made.vae, made.clip(), on_gpu(Precision::kBF16)), once);
}

TEST(DecodeOnGpu, PassesOfAnyLengthGiveTheSameVideo) {
  const Synthetic made(7, 4, 6);
  const std::vector<float> whole = decode(made.vae, made.clip(), on_gpu(Precision::kF32));
  for (const std::int64_t frames : {1, 2, 3, 7}) {
    DecodeOptions options = on_gpu(Precision::kF32);
    options.frames_per_pass = frames;
    EXPECT_LE(rms(decode(made.vae, made.clip(), options), whole), 1e-6) << frames;
  }
}

TEST(DecodeOnGpu, TakesLatentsThatLieOnTheGpu) {
  const Synthetic made(3, 4, 6);
  const TensorView clip = made.clip();
  const device::CurrentDevice current(kGpu);
  const device::Memory memory(kGpu, clip.bytes());
  device::copy(memory.data(), clip.data, clip.bytes(), nullptr);
  device::synchronize(nullptr);
  const TensorView resident = TensorView::dense(memory.data(), clip.dtype, clip.sizes(), kGpu);
  EXPECT_EQ(decode(made.vae, resident, on_gpu(Precision::kBF16)),
            decode(made.vae, clip, on_gpu(Precision::kBF16)));

  const float nan = std::nanf("");
  const std::size_t frame = clip.bytes() / static_cast<std::size_t>(clip.shape[0] * clip.shape[1]);
  device::copy(memory.data() + frame, &nan, sizeof nan, nullptr);  // channel 0, frame 1
  device::synchronize(nullptr);
  expect_error(ErrorKind::kInvalidArgument, {"latent frame 1", "NaN"},
               [&] { decode(made.vae, resident, on_gpu(Precision::kBF16)); });
}

// Keeps the bytes it gets in a layout of its choice.
class BytesSink final : public FrameSink {
 public:
  explicit BytesSink(PixelLayout layout) : layout_(layout) {}
  [[nodiscard]] FrameFormat preferred_format() const override { return {.layout = layout_}; }
  void write(const TensorView& frames) override {
    const auto* data = static_cast<const std::uint8_t*>(frames.data);
    bytes.insert(bytes.end(), data, data + frames.bytes());
  }
  std::vector<std::uint8_t> bytes;

 private:
  PixelLayout layout_;
};

TEST(DecodeOnGpu, MakesThePicturesThatTheCpuMakes) {
  const Synthetic made(3, 3, 5);
  CollectingSink frames;
  BytesSink yuv(PixelLayout::kYuv420), rgb(PixelLayout::kRgb24);
  made.vae.decode(made.clip(), frames, on_gpu(Precision::kF32));
  made.vae.decode(made.clip(), yuv, on_gpu(Precision::kF32));
  made.vae.decode(made.clip(), rgb, on_gpu(Precision::kF32));
  const std::int64_t height = frames.height, width = frames.width, luma = height * width;
  std::vector<std::uint8_t> expected_yuv, expected_rgb;
  for (std::int64_t i = 0; i < frames.frame_count; ++i) {
    const RgbFrame frame{frames.pixels.data() + i * luma * 3, height, width};
    std::vector<std::uint8_t> picture(static_cast<std::size_t>(luma * 3 / 2));
    rgb_to_yuv(frame, {.height = height,
                       .width = width,
                       .y = {picture.data(), width},
                       .cb = {picture.data() + luma, width / 2},
                       .cr = {picture.data() + luma * 5 / 4, width / 2}});
    expected_yuv.insert(expected_yuv.end(), picture.begin(), picture.end());
    picture.resize(static_cast<std::size_t>(luma * 3));
    rgb_to_rgb24(frame, {picture.data(), width * 3});
    expected_rgb.insert(expected_rgb.end(), picture.begin(), picture.end());
  }
  EXPECT_EQ(yuv.bytes, expected_yuv);
  EXPECT_EQ(rgb.bytes, expected_rgb);
}

// Cancels after the first frames.
class CancellingSink final : public FrameSink {
 public:
  explicit CancellingSink(CancelToken token) : token_(std::move(token)) {}
  void write(const TensorView& /*frames*/) override { token_.cancel(); }

 private:
  CancelToken token_;
};

TEST(DecodeOnGpu, GivesEverythingBackAfterACancelledDecode) {
  const Synthetic made(9, 4, 6);
  const std::vector<float> whole = decode(made.vae, made.clip(), on_gpu(Precision::kBF16));
  DecodeOptions options = on_gpu(Precision::kBF16);
  options.frames_per_pass = 1;
  decode(made.vae, made.clip(), options);  // engines and libraries' code stay
  const std::size_t before = free_bytes();
  CancellingSink sink(options.cancel);
  expect_error(ErrorKind::kCancelled, {"cancelled"},
               [&] { made.vae.decode(made.clip(), sink, options); });
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(decode(made.vae, made.clip(), on_gpu(Precision::kBF16)), whole);
}

TEST(DecodeOnGpu, GivesEverythingBackAfterRunningOutOfMemory) {
  const Synthetic made(5, 4, 6);
  const std::vector<float> whole = decode(made.vae, made.clip(), on_gpu(Precision::kBF16));
  const std::size_t before = free_bytes();
  DecodeOptions limited = on_gpu(Precision::kBF16);
  limited.memory_limit = 1 << 20;
  expect_error(ErrorKind::kOutOfMemory, {"4 x 6", "1.0 MiB allowed"},
               [&] { decode(made.vae, made.clip(), limited); });
  DecodeOptions refused = on_gpu(Precision::kBF16);
  int taken = 0;
  refused.context.allocator = {
      .allocate =
          [&](std::size_t bytes) { return ++taken > 1 ? nullptr : device::allocate(bytes); },
      .deallocate = [](void* pointer, std::size_t) { device::deallocate(pointer); }};
  expect_error(ErrorKind::kOutOfMemory, {"left on GPU 0"},
               [&] { decode(made.vae, made.clip(), refused); });
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(decode(made.vae, made.clip(), on_gpu(Precision::kBF16)), whole);
}

TEST(DecodeOnGpu, TakesItsMemoryFromTheCallersAllocator) {
  const Synthetic made(3, 4, 6);
  std::size_t taken = 0, given_back = 0;
  DecodeOptions options = on_gpu(Precision::kBF16);
  options.context.allocator = {.allocate =
                                   [&](std::size_t bytes) {
                                     taken += bytes;
                                     return device::allocate(bytes);
                                   },
                               .deallocate =
                                   [&](void* pointer, std::size_t bytes) {
                                     given_back += bytes;
                                     device::deallocate(pointer);
                                   }};
  CollectingSink sink;
  const DecodeStatistics statistics = made.vae.decode(made.clip(), sink, options);
  EXPECT_EQ(taken, given_back);
  EXPECT_EQ(taken, statistics.planned_bytes);
}

TEST(DecodeOnGpu, GoesToTheCpuOnlyIfItMayAndTheGpuIsFull) {
  const Synthetic made(1, 2, 3);
  DecodeJob job{.vae = made.folder.path() / "vae",
                .latents = {made.folder.path() / "latents.safetensors"},
                .output = made.folder.path() / "video.safetensors",
                .decode = on_gpu(Precision::kAuto)};
  job.or_on_cpu = true;
  EXPECT_EQ(run_decode(job, {}).device, kGpu);
  std::vector<device::Memory> all_but_little;
  constexpr std::size_t kPiece = std::size_t{64} << 20;
  while (free_bytes() > 2 * kPiece) {
    all_but_little.emplace_back(kGpu, std::max(kPiece, free_bytes() / 2));
  }
  EXPECT_EQ(run_decode(job, {}).device, Device{});
  job.or_on_cpu = false;
  expect_error(ErrorKind::kOutOfMemory, {"GPU 0"}, [&] { run_decode(job, {}); });
}

TEST(DecodeOnGpu, ThereIsNoGpu99) {
  const Synthetic made(1, 1, 1);
  DecodeOptions options = on_gpu(Precision::kBF16);
  options.context.device.index = 99;
  expect_error(ErrorKind::kNotFound, {"no GPU 99"},
               [&] { decode(made.vae, made.clip(), options); });
}

}  // namespace
}  // namespace pantograph
