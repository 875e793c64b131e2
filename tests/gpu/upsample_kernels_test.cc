// The upsampler on Hopper, by fewer products and by four convolutions, against its definition in
// f32 on the same GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "hopper.h"
#include "ops/cuda.h"
#include "ops/enlarge/enlarge.h"
#include "ops/rms_norm/rms_norm.h"

namespace pantograph::ops {
namespace {

using test::kGpu;

std::vector<float> random_normal(std::int64_t count, std::uint64_t seed, float deviation) {
  return test::normal_numbers(count, seed, DType::kBF16, deviation);
}

// Frames on the GPU with two more in front, NaN until written.
class GpuFrames {
 public:
  static constexpr std::int64_t kLead = 2;

  GpuFrames(DType dtype, std::int64_t frames, std::int64_t height, std::int64_t width,
            std::int64_t channels)
      : whole_{.dtype = dtype,
               .frames = frames + kLead,
               .height = height,
               .width = width,
               .channels = channels},
        memory_(kGpu, whole_.bytes()) {
    whole_.data = memory_.data();
    test::fill_with_ones(memory_.data(), memory_.bytes());
  }
  // With values that bf16 holds.
  void fill(const std::vector<float>& values) {
    std::vector<std::byte> converted(view().bytes());
    ASSERT_EQ(converted.size(), values.size() * size_of(whole_.dtype));
    convert_from_f32(values.data(), whole_.dtype, converted.data(), std::ssize(values));
    device::copy(view().data, converted.data(), converted.size(), nullptr);
    device::synchronize(nullptr);
  }
  [[nodiscard]] FramesView view() const { return whole_.slice(kLead, whole_.frames - kLead); }
  // With those in front.
  [[nodiscard]] std::vector<float> all() const { return read(whole_); }
  [[nodiscard]] std::vector<float> values() const { return read(view()); }

 private:
  static std::vector<float> read(const FramesView& frames) {
    std::vector<std::byte> raw(frames.bytes());
    device::copy(raw.data(), frames.data, raw.size(), nullptr);
    device::synchronize(nullptr);
    std::vector<float> result(static_cast<std::size_t>(frames.positions() * frames.channels));
    convert_to_f32(frames.dtype, raw.data(), result.data(), std::ssize(result));
    return result;
  }
  FramesView whole_;
  device::Memory memory_;
};

// Runs a call as a session does: once to plan, then in memory that holds NaN.
void run(const std::function<void(const Context&)>& call) {
  Arena arena;
  PlanCache plans;
  Context context{.device = kGpu, .arena = &arena, .plans = &plans, .planning = true};
  call(context);
  const device::Memory slab(kGpu, arena.peak());
  plans.prepare({.data = slab.data(), .bytes = slab.bytes()});
  test::fill_with_ones(slab.data(), slab.bytes());
  arena.bind(slab.data(), slab.bytes());
  context.planning = false;
  call(context);
  device::synchronize(nullptr);
}

struct Sizes {
  std::int64_t frames = 0, height = 0, width = 0;  // of x
  std::int64_t channels = 0;                       // of y
  std::int64_t shortcut_channels = 0;
  std::int64_t copies = 1;
  std::int64_t temporal_factor = 1;
  bool first = false;
};

std::ostream& operator<<(std::ostream& out, const Sizes& s) {
  return out << s.frames << " x " << s.height << " x " << s.width << ", " << s.shortcut_channels
             << " -> " << s.channels << ", " << s.copies << " copies, factor " << s.temporal_factor
             << (s.first ? ", first" : "");
}

struct Result {
  std::vector<float> y, normed, history;
};

class UpsampleKernels : public test::OnHopper {
 protected:
  static void TearDownTestSuite() { made_.clear(); }  // while there is a GPU

  static const EnlargeWeights& weights(std::int64_t channels) {
    const auto known = made_.find(channels);
    if (known != made_.end()) return known->second;
    const std::array<std::int64_t, 4> shape = {channels, channels, 3, 3};
    const std::array<std::int64_t, 1> bias = {channels};
    const float deviation = 1 / std::sqrt(9 * static_cast<float>(channels));
    return made_
        .try_emplace(channels, Weight(random_normal(channels * channels * 9, 1, deviation), shape),
                     Weight(random_normal(channels, 2, 1), bias))
        .first->second;
  }

  using Way = std::function<void(const Context&, const EnlargeWeights&, const Enlargement&,
                                 const NormedFrames&)>;
  // What `way` makes in `dtype` of random frames, of which x has this deviation.
  static Result enlarged(const Sizes& s, DType dtype, float deviation, const Way& way,
                         const std::function<void(std::vector<float>&)>& change = {}) {
    const std::int64_t frames = s.copies * s.frames;
    GpuFrames x(dtype, s.frames, s.height, s.width, s.copies * s.channels);
    GpuFrames shortcut(dtype, s.frames, s.height, s.width, s.shortcut_channels);
    const GpuFrames y(dtype, frames, 2 * s.height, 2 * s.width, s.channels);
    const GpuFrames normed(dtype, frames, 2 * s.height, 2 * s.width, s.channels);
    GpuFrames history(dtype, GpuFrames::kLead, 2 * s.height, 2 * s.width, s.channels);
    std::vector<float> values =
        random_normal(x.view().positions() * x.view().channels, 3, deviation);
    if (change) change(values);
    x.fill(values);
    shortcut.fill(random_normal(shortcut.view().positions() * s.shortcut_channels, 4, deviation));
    history.fill(random_normal(history.view().positions() * s.channels, 5, 1));
    const Parameter gamma(random_normal(s.channels, 6, 1));
    run([&](const Context& context) {
      way(context, weights(s.channels),
          {.x = x.view(),
           .shortcut = shortcut.view(),
           .temporal_factor = s.temporal_factor,
           .first = s.first,
           .y = y.view()},
          {.gamma = &gamma, .y = normed.view(), .history = history.view()});
    });
    return {y.values(), normed.all(), history.values()};
  }

  static Result by_op(const Sizes& s, DType dtype, float deviation) {
    return enlarged(s, dtype, deviation,
                    [](const Context& context, const EnlargeWeights& weights,
                       const Enlargement& enlargement, const NormedFrames& normed) {
                      EXPECT_EQ(enlarge_fuses(context, weights, enlargement),
                                enlargement.y.dtype == DType::kBF16);
                      enlarge(context, weights, enlargement, normed);
                    });
  }

  // Relative to the root of the mean square of b.
  static void expect_near(const std::vector<float>& a, const std::vector<float>& b, double rms,
                          double most, const std::string& what) {
    ASSERT_EQ(a.size(), b.size());
    double squares = 0, differences = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_TRUE(std::isfinite(a[i])) << what << ", element " << i;
      const double difference = double{a[i]} - double{b[i]};
      squares += double{b[i]} * double{b[i]};
      differences += difference * difference;
      largest = std::max(largest, std::abs(difference));
    }
    const double scale = std::sqrt(squares / static_cast<double>(a.size()));
    EXPECT_LE(std::sqrt(differences / static_cast<double>(a.size())), rms * scale) << what;
    EXPECT_LE(largest, most * scale) << what;
  }

  // By four convolutions, as on other GPUs.
  static Result generally(const Sizes& s, float deviation) {
    return enlarged(s, DType::kBF16, deviation,
                    [](const Context& context, const EnlargeWeights& weights,
                       const Enlargement& enlargement, const NormedFrames& normed) {
                      Context general = context;
                      general.algorithm = Algorithm::kGeneral;
                      EXPECT_FALSE(enlarge_fuses(general, weights, enlargement));
                      enlarge(general, weights, enlargement, normed);
                    });
  }

  static void expect_as_defined(const Result& found, const Sizes& sizes, float deviation) {
    std::ostringstream name;
    name << sizes;
    const Result defined = by_op(sizes, DType::kF32, deviation);
    expect_near(found.y, defined.y, 6e-3, 0.1, name.str() + ": y");
    expect_near(found.normed, defined.normed, 8e-3, 0.15, name.str() + ": normed");
    expect_near(found.history, defined.history, 8e-3, 0.15, name.str() + ": history");
  }
  static void expect_as_defined(const Sizes& sizes, float deviation) {
    expect_as_defined(by_op(sizes, DType::kBF16, deviation), sizes, deviation);
  }

  // What a norm of its own makes of y as it was rounded, but for a unit in the last of 8 bits.
  static void expect_norm_of_y(const Sizes& s) {
    const Result fused = by_op(s, DType::kBF16, 1);
    GpuFrames y(DType::kBF16, s.copies * s.frames, 2 * s.height, 2 * s.width, s.channels);
    const GpuFrames normed(DType::kBF16, s.copies * s.frames, 2 * s.height, 2 * s.width,
                           s.channels);
    y.fill(fused.y);
    const Parameter gamma(random_normal(s.channels, 6, 1));
    run([&](const Context& context) {
      rms_norm(context, y.view(), gamma, Activation::kSilu, normed.view());
    });
    const std::vector<float> expected = normed.values();
    const std::size_t lead = fused.normed.size() - expected.size();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(fused.normed[lead + i], expected[i], std::abs(expected[i]) / 128 + 1e-6)
          << s << ", element " << i;
    }
  }

 private:
  static inline std::map<std::int64_t, EnlargeWeights> made_;
  device::CurrentDevice current_{kGpu};
};

std::vector<Sizes> all_sizes(std::int64_t channels) {
  std::vector<Sizes> result;
  for (const auto& [height, width] : {std::pair{1, 1}, {3, 5}, {7, 4}}) {
    for (const std::int64_t ratio : {1, 2}) {
      const Sizes plain{.frames = 3,
                        .height = height,
                        .width = width,
                        .channels = channels,
                        .shortcut_channels = ratio * channels};
      result.push_back(plain);
      Sizes first = plain, doubled = plain;
      first.frames = 1, first.temporal_factor = 2, first.first = true;
      doubled.frames = 2, doubled.temporal_factor = 2, doubled.copies = 2;
      result.push_back(first);
      result.push_back(doubled);
    }
  }
  return result;
}

TEST_F(UpsampleKernels, Make256ChannelsAsDefined) {
  for (const Sizes& sizes : all_sizes(256)) expect_as_defined(sizes, 1);
}

TEST_F(UpsampleKernels, Make512ChannelsAsDefined) {
  for (const Sizes& sizes : all_sizes(512)) expect_as_defined(sizes, 1);
}

TEST_F(UpsampleKernels, Make1024ChannelsAsDefined) {
  for (const Sizes& sizes : all_sizes(1024)) expect_as_defined(sizes, 1);
}

TEST_F(UpsampleKernels, NormWhatTheyRounded) {
  for (const std::int64_t channels : {256, 512, 1024}) {
    for (const Sizes& sizes : all_sizes(channels)) expect_norm_of_y(sizes);
  }
}

TEST_F(UpsampleKernels, JoinFourConvolutionsAsDefined) {
  for (const Sizes& sizes : all_sizes(256)) {
    expect_as_defined(generally(sizes, 1), sizes, 1);
  }
}

// More tiles than blocks that a GPU holds, or rows that a product of matrices takes at a time.
TEST_F(UpsampleKernels, FillManyBlocks) {
  expect_as_defined(
      {.frames = 2, .height = 45, .width = 43, .channels = 256, .shortcut_channels = 512}, 1);
}

// Up to about 3e4, where sums of transformed values would be far beyond f16; and down to where
// nothing is left to scale.
TEST_F(UpsampleKernels, TakeAnyRange) {
  for (const float deviation : {6e3F, 1e30F, 1e-3F}) {
    expect_as_defined({.frames = 2,
                       .height = 7,
                       .width = 6,
                       .channels = 256,
                       .shortcut_channels = 512,
                       .copies = 1},
                      deviation);
  }
}

TEST_F(UpsampleKernels, GiveTheSameBitsRowByRow) {
  const Sizes sizes{.frames = 2,
                    .height = 9,
                    .width = 5,
                    .channels = 512,
                    .shortcut_channels = 512,
                    .copies = 2,
                    .temporal_factor = 2};
  const Result whole = by_op(sizes, DType::kBF16, 1);
  const Result parts = enlarged(sizes, DType::kBF16, 1,
                                [](const Context& context, const EnlargeWeights& weights,
                                   const Enlargement& enlargement, const NormedFrames& normed) {
                                  ASSERT_TRUE(enlarge_fuses(context, weights, enlargement));
                                  cuda::enlarge_fused(context, weights, enlargement, normed, 1);
                                });
  EXPECT_EQ(parts.y, whole.y);
  EXPECT_EQ(parts.normed, whole.normed);
  EXPECT_EQ(parts.history, whole.history);
}

TEST_F(UpsampleKernels, LetNothingHideWhatIsNotFinite) {
  const Sizes sizes{
      .frames = 1, .height = 4, .width = 4, .channels = 256, .shortcut_channels = 256};
  for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    const Result result = enlarged(
        sizes, DType::kBF16, 1,
        [](const Context& context, const EnlargeWeights& weights, const Enlargement& enlargement,
           const NormedFrames& normed) { enlarge(context, weights, enlargement, normed); },
        [&](std::vector<float>& x) { x[0] = value; });
    // Its four copies, row by row.
    for (const std::size_t pixel : {0, 1, 8, 9}) {
      for (std::size_t c = 0; c < 256; ++c) {
        ASSERT_FALSE(std::isfinite(result.y[pixel * 256 + c])) << value << " " << pixel;
      }
    }
  }
}

}  // namespace
}  // namespace pantograph::ops
