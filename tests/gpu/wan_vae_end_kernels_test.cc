// The kernels at both ends of the VAE's decoder, each alone against its formula in launch.h:
// latents in, pictures out.
#include <algorithm>
#include <array>
#include <limits>

#include "kernels/wan_vae/launch.h"
#include "wan_vae_kernels.h"

namespace pantograph::kernels {
namespace {

using test::GuardedArray;
using test::Shape;

class WanVaeEndKernels : public test::OnGpu {};

struct LatentsCase {
  Shape shape;
  bool inside = false;  // a part of larger frames, channels last; else dense, channels first
};
constexpr LatentsCase kLatentsCases[] = {
    {{1, 1, 1, 1}}, {{3, 5, 7, 16}}, {{3, 5, 7, 16}, true}, {{4, 1, 2, 3}, true}};

// Latents in memory that is NaN elsewhere.
class Latents {
 public:
  explicit Latents(const LatentsCase& c) : shape_(c.shape) {
    const auto& [frames, height, width, channels] = shape_;
    const std::int64_t pixel = channels + 3, row = (width + 2) * pixel, frame = (height + 1) * row;
    const std::int64_t plane = height * width;
    strides_ = c.inside ? std::array<std::int64_t, 4>{1, frame, row, pixel}
                        : std::array<std::int64_t, 4>{frames * plane, plane, width, 1};
    memory_.resize(static_cast<std::size_t>(c.inside ? frames * frame : shape_.elements()),
                   test::kNaN);
    const std::vector<float> values = test::numbers(shape_.elements(), 1);
    test::for_each_element(
        shape_, [&](auto... position) { at(position...) = values[shape_.at(position...)]; });
  }
  [[nodiscard]] float& at(std::int64_t frame, std::int64_t row, std::int64_t column,
                          std::int64_t c) {
    return memory_[static_cast<std::size_t>(c * strides_[0] + frame * strides_[1] +
                                            row * strides_[2] + column * strides_[3])];
  }
  [[nodiscard]] const std::vector<float>& memory() const { return memory_; }
  [[nodiscard]] LoadLatents problem(DType dtype, const GuardedArray& memory) const {
    return {.latents_dtype = dtype,
            .frames = shape_.frames,
            .height = shape_.height,
            .width = shape_.width,
            .channels = shape_.channels,
            .strides = {strides_[0], strides_[1], strides_[2], strides_[3]},
            .latents = memory.data()};
  }

 private:
  Shape shape_;
  std::array<std::int64_t, 4> strides_;
  std::vector<float> memory_;
};

constexpr DType kLatentsTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

TEST_F(WanVaeEndKernels, LoadLatentsScalesAndShiftsChannels) {
  test::for_each_case(kLatentsCases, [](const LatentsCase& c, DType dtype) {
    Latents latents(c);
    const std::vector<float> scale = test::numbers(c.shape.channels, 2);
    const std::vector<float> shift = test::numbers(c.shape.channels, 3);
    const device::Memory scale_on_gpu = test::floats_on_gpu(scale);
    const device::Memory shift_on_gpu = test::floats_on_gpu(shift);
    for (const DType latents_dtype : kLatentsTypes) {
      const GuardedArray memory(latents.memory(), latents_dtype), y(c.shape.elements(), dtype);
      LoadLatents problem = latents.problem(latents_dtype, memory);
      problem.dtype = dtype;
      problem.scale = test::as_floats(scale_on_gpu);
      problem.shift = test::as_floats(shift_on_gpu);
      problem.y = y.data();
      test::run(load_latents(problem, nullptr));
      const auto expected = [&](auto frame, auto row, auto column, std::int64_t channel) {
        const auto k = static_cast<std::size_t>(channel);
        return double{latents.at(frame, row, column, channel)} * scale[k] + shift[k];
      };
      test::expect_rounded(y, dtype, test::elements(c.shape, expected));
    }
  });
}

TEST_F(WanVaeEndKernels, FirstFrameNotFiniteIsTheLowest) {
  for (const bool inside : {false, true}) {
    for (const DType dtype : kLatentsTypes) {
      Latents latents({{5, 6, 7, 16}, inside});
      const auto first = [&](int frame) {
        const GuardedArray memory(latents.memory(), dtype);
        const device::Memory on_gpu(test::kGpu, sizeof frame);
        device::copy(on_gpu.data(), &frame, sizeof frame, nullptr);
        test::run(first_frame_not_finite(latents.problem(dtype, memory),
                                         reinterpret_cast<int*>(on_gpu.data()), nullptr));
        device::copy(&frame, on_gpu.data(), sizeof frame, nullptr);
        device::synchronize(nullptr);
        return frame;
      };
      latents.at(0, 0, 0, 0) = 65504;  // f16's largest
      EXPECT_EQ(first(5), 5);
      latents.at(4, 5, 6, 15) = -std::numeric_limits<float>::infinity();
      EXPECT_EQ(first(5), 4);
      latents.at(2, 0, 3, 9) = test::kNaN;
      EXPECT_EQ(first(5), 2);
      latents.at(3, 1, 0, 0) = std::numeric_limits<float>::infinity();
      EXPECT_EQ(first(5), 2);
      EXPECT_EQ(first(1), 1);  // as was known before
    }
  }
}

struct PicturesCase {
  std::int64_t frames, height, width, patch;  // of x
};

// Pictures as BT.709-6 has them in its items 3.2 to 3.4 and 4.6; bytes before they are rounded.
class Pictures {
 public:
  Pictures(const PicturesCase& c, const std::vector<float>& x)
      : c_(c),
        shape_{c.frames, c.patch * c.height, c.patch * c.width, 3},
        patches_{c.frames, c.height, c.width, 3 * c.patch * c.patch},
        x_(x) {}
  [[nodiscard]] std::vector<double> in(PixelLayout layout) const {
    const auto value = [&](auto... at) { return colour(at...); };
    const auto byte = [&](auto... at) { return 255 * unit(at...); };
    if (layout == PixelLayout::kRgbF32) return test::elements(shape_, value);
    if (layout == PixelLayout::kRgb24) return test::elements(shape_, byte);
    std::vector<double> planes;
    for (std::int64_t frame = 0; frame < shape_.frames; ++frame) {
      const auto add = [&](std::int64_t height, std::int64_t width, const auto& sample) {
        const std::vector<double> plane =
            test::elements({1, height, width, 1},
                           [&](auto, auto row, auto column, auto) { return sample(row, column); });
        planes.insert(planes.end(), plane.begin(), plane.end());
      };
      const std::int64_t height = (shape_.height + 1) / 2, width = (shape_.width + 1) / 2;
      add(shape_.height, shape_.width, [&](std::int64_t row, std::int64_t column) {
        return 16 + 219 * luma([&](int k) { return unit(frame, row, column, k); });
      });
      for (const auto& [k, span] : {std::pair{2, 1.8556}, {0, 1.5748}}) {  // Cb, Cr
        add(height, width, [&](std::int64_t row, std::int64_t column) {
          const auto mean = [&](int colour) { return mean_around(frame, row, column, colour); };
          return 128 + 224 * (mean(k) - luma(mean)) / span;
        });
      }
    }
    return planes;
  }

 private:
  // Of a patch the columns come before the rows; beyond [-1, 1] is what is clamped.
  [[nodiscard]] double colour(std::int64_t frame, std::int64_t row, std::int64_t column,
                              std::int64_t k) const {
    const std::int64_t p = c_.patch;
    const double value =
        x_[patches_.at(frame, row / p, column / p, p * p * k + p * (column % p) + row % p)];
    return std::isnan(value) ? value : std::clamp(value, -1.0, 1.0);
  }
  // In [0, 1], of the nearest pixel; 0 for NaN.
  [[nodiscard]] double unit(std::int64_t frame, std::int64_t row, std::int64_t column,
                            std::int64_t k) const {
    const double value = colour(frame, std::clamp<std::int64_t>(row, 0, shape_.height - 1),
                                std::clamp<std::int64_t>(column, 0, shape_.width - 1), k);
    return std::isnan(value) ? 0 : (value + 1) / 2;
  }
  // A chroma sample lies on an even column and between two rows: 1 2 1 across, 1 1 down.
  [[nodiscard]] double mean_around(std::int64_t frame, std::int64_t row, std::int64_t column,
                                   std::int64_t k) const {
    double sum = 0;
    for (const std::int64_t r : {2 * row, 2 * row + 1}) {
      sum += unit(frame, r, 2 * column - 1, k) + 2 * unit(frame, r, 2 * column, k) +
             unit(frame, r, 2 * column + 1, k);
    }
    return sum / 8;
  }
  template <typename Colour>
  static double luma(const Colour& colour) {
    return 0.2126 * colour(0) + 0.7152 * colour(1) + 0.0722 * colour(2);
  }

  PicturesCase c_;
  Shape shape_, patches_;
  const std::vector<float>& x_;
};

TEST_F(WanVaeEndKernels, UnpatchifyMakesPicturesOfEachLayout) {
  // Odd sizes, and a side of a single pixel; pixels and chroma samples of one block and of more.
  constexpr PicturesCase kCases[] = {{1, 1, 1, 1}, {2, 3, 5, 1}, {1, 1, 8, 1},  {2, 41, 43, 1},
                                     {1, 1, 1, 2}, {2, 3, 5, 2}, {1, 21, 23, 2}};
  // A byte is rounded, after up to 16 roundings in f32 of numbers below 256.
  constexpr double kOfByte = 0.5 + 16 * 0x1p-24 * 256;
  test::for_each_case(kCases, [](const PicturesCase& c, DType dtype) {
    std::vector<float> values =
        test::normal_numbers(c.frames * c.height * c.width * 3 * c.patch * c.patch, 1, dtype, 0.6);
    values.back() = test::kNaN;
    const GuardedArray x(values, dtype);
    for (const PixelLayout layout :
         {PixelLayout::kRgbF32, PixelLayout::kRgb24, PixelLayout::kYuv420}) {
      const std::vector<double> expected = Pictures(c, values).in(layout);
      const bool bytes = layout != PixelLayout::kRgbF32;
      const DType pixel = bytes ? DType::kU8 : DType::kF32;
      const GuardedArray pixels(std::ssize(expected), pixel);
      test::run(unpatchify({.dtype = dtype,
                            .frames = c.frames,
                            .height = c.height,
                            .width = c.width,
                            .patch = c.patch,
                            .layout = layout,
                            .x = x.data(),
                            .pixels = pixels.data()},
                           nullptr));
      test::expect_near(pixels, pixel, expected,
                        std::vector<double>(expected.size(), bytes ? kOfByte : 0));
    }
  });
}

struct PatchesCase {
  Shape x;
  std::int64_t channels;  // of a patch
};

TEST_F(WanVaeEndKernels, GatherPatchesTakesWhatIsAroundEachPixel) {
  constexpr PatchesCase kCases[] = {
      {{1, 1, 1, 8}, 72}, {{2, 3, 5, 48}, 448}, {{3, 1, 7, 8}, 128}, {{1, 9, 1, 64}, 576}};
  for (const PatchesCase& c : kCases) {
    SCOPED_TRACE(testing::Message() << "case " << &c - kCases);
    const std::vector<float> values = test::numbers(c.x.elements(), 1);
    const Shape out{c.x.frames, c.x.height, c.x.width, c.channels};
    const GuardedArray x(values, DType::kBF16), patches(out.elements());
    test::run(gather_patches({.frames = c.x.frames,
                              .height = c.x.height,
                              .width = c.x.width,
                              .channels = c.x.channels,
                              .patch_channels = c.channels,
                              .x = x.data(),
                              .patches = patches.data()},
                             nullptr));
    const auto expected = [&](auto frame, auto row, auto column, auto channel) -> double {
      const std::int64_t tap = channel / c.x.channels;
      const std::int64_t r = row + tap / 3 - 1, s = column + tap % 3 - 1;
      if (tap >= 9 || r < 0 || r >= c.x.height || s < 0 || s >= c.x.width) return 0;
      return test::rounded(values[c.x.at(frame, r, s, channel % c.x.channels)], DType::kBF16);
    };
    test::expect_rounded(patches, DType::kBF16, test::elements(out, expected));
  }
}

TEST_F(WanVaeEndKernels, GatherPatchesRefusesChannelsThatDoNotFit) {
  EXPECT_EQ(gather_patches({.channels = 12, .patch_channels = 128}, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(gather_patches({.channels = 8, .patch_channels = 76}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(gather_patches({.channels = 8, .patch_channels = 64}, nullptr), cudaErrorInvalidValue);
}

TEST_F(WanVaeEndKernels, TakeNoFramesAndNoOtherType) {
  EXPECT_EQ(load_latents({}, nullptr), cudaSuccess);
  EXPECT_EQ(first_frame_not_finite({}, nullptr, nullptr), cudaSuccess);
  EXPECT_EQ(unpatchify({}, nullptr), cudaSuccess);
  EXPECT_EQ(gather_patches({}, nullptr), cudaSuccess);
  EXPECT_EQ(
      load_latents({.dtype = DType::kF16, .frames = 1, .height = 1, .width = 1, .channels = 1},
                   nullptr),
      cudaErrorInvalidValue);
  EXPECT_EQ(unpatchify({.dtype = DType::kF16, .frames = 1, .height = 1, .width = 1}, nullptr),
            cudaErrorInvalidValue);
}

TEST_F(WanVaeEndKernels, UnpatchifyRefusesMoreFramesThanAGridHas) {
  EXPECT_EQ(unpatchify({.frames = 65'536, .height = 1, .width = 1}, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace pantograph::kernels
