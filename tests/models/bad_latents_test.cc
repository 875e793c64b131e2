// Latents that cannot be decoded, and the forms in which those that can may come.
#include <array>
#include <limits>

#include "core/convert.h"
#include "models/vae_test.h"
#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::CollectingSink;
using test::decode;
using test::expect_error;
using test::golden;
using test::Latents;

class BadLatents : public testing::Test {
 protected:
  void expect_refused(const TensorView& latents, std::initializer_list<std::string_view> parts) {
    CollectingSink sink;
    expect_error(ErrorKind::kInvalidArgument, parts, [&] { vae_.decode(latents, sink); });
    EXPECT_EQ(sink.writes, 0);
  }
  const Vae vae_ = Vae::open(golden("odd"));
  std::vector<float> zeros_ = std::vector<float>(4096, 0.0F);
};

TEST_F(BadLatents, OtherChannels) {
  const auto of = [&](std::int64_t channels) {
    return TensorView::dense(zeros_.data(), DType::kF32, {channels, 1, 2, 2});
  };
  expect_refused(of(16), {"16 channels", "Wan2.1", "48"});
  expect_refused(of(47), {"47 channels", "48"});
}

TEST_F(BadLatents, OtherRanks) {
  expect_refused(TensorView::dense(zeros_.data(), DType::kF32, {48, 2, 2}),
                 {"3 dimensions", "[48, T, h, w]"});
  expect_refused(TensorView::dense(zeros_.data(), DType::kF32, {1, 48, 1, 2, 2}), {"5 dimensions"});
  expect_refused(TensorView{}, {"0 dimensions"});
}

TEST_F(BadLatents, OtherTypes) {
  for (const DType dtype :
       {DType::kF64, DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8, DType::kBool}) {
    expect_refused(TensorView::dense(zeros_.data(), dtype, {48, 1, 1, 1}),
                   {to_string(dtype), "expected f32, bf16 or f16"});
  }
}

TEST_F(BadLatents, Nothing) {
  expect_refused(TensorView::dense(zeros_.data(), DType::kF32, {48, 0, 2, 2}),
                 {"empty", "[48, 0, 2, 2]"});
  expect_refused(TensorView::dense(zeros_.data(), DType::kF32, {48, 1, 0, 2}), {"empty"});
  expect_refused(TensorView::dense(zeros_.data(), DType::kF32, {48, 1, 2, 0}), {"empty"});
}

TEST_F(BadLatents, SizesNoTensorHas) {
  TensorView latents = TensorView::dense(zeros_.data(), DType::kF32, {48, 1, 1, 1});
  latents.shape[1] = -1;
  expect_refused(latents, {"empty"});
}

TEST_F(BadLatents, NanAndInfinityAreNamedByFrame) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    Latents latents(5, 2, 3);
    latents.values[static_cast<std::size_t>(((47 * 5 + 4) * 2 + 1) * 3 + 2)] = bad;
    expect_refused(latents.view, {"latent frame 4 of 5", "NaN or infinity"});
    latents.values[static_cast<std::size_t>((20 * 5 + 2) * 2 * 3)] = bad;  // the first counts
    expect_refused(latents.view, {"latent frame 2 of 5"});
  }
}

TEST_F(BadLatents, AStreamCountsItsFramesFromTheBeginning) {
  Latents latents(3, 1, 1);
  latents.values[2] = std::numeric_limits<float>::quiet_NaN();
  DecodeSession session = vae_.decode_session(1, 1);
  CollectingSink sink;
  session.push(latents.view.slice(1, 0, 2), sink);
  expect_error(ErrorKind::kInvalidArgument, {"latent frame 2 holds NaN"},
               [&] { session.push(latents.view.slice(1, 2, 1), sink); });
  EXPECT_EQ(sink.frame_count, 5);
}

TEST_F(BadLatents, ASessionRefusesOtherShapesAndIsSpent) {
  const auto push = [&](const TensorView& latents, std::initializer_list<std::string_view> parts) {
    DecodeSession session = vae_.decode_session(2, 2);
    CollectingSink sink;
    expect_error(ErrorKind::kInvalidArgument, parts, [&] { session.push(latents, sink); });
    expect_error(ErrorKind::kInvalidArgument, {"ended with an error"},
                 [&] { session.push(Latents(1, 2, 2).view, sink); });
    EXPECT_EQ(sink.writes, 0);
    EXPECT_EQ(session.latent_frames(), 0);
  };
  push(Latents(1, 2, 3).view, {"latents of 2 x 3", "made for 2 x 2"});
  push(TensorView::dense(zeros_.data(), DType::kF32, {16, 1, 2, 2}), {"[48, n, 2, 2]", "16"});
  push(TensorView::dense(zeros_.data(), DType::kF32, {48, 2, 2}), {"3 dimensions"});
  push(TensorView::dense(zeros_.data(), DType::kI32, {48, 1, 2, 2}), {"i32", "f32, bf16 or f16"});
}

TEST_F(BadLatents, ImpossibleOptions) {
  const auto refused = [&](std::int64_t height, std::int64_t width, const DecodeOptions& options,
                           const char* says) {
    expect_error(ErrorKind::kInvalidArgument, {says},
                 [&] { return vae_.decode_session(height, width, options); });
  };
  DecodeOptions options;
  refused(0, 1, options, "latents of 0 x 1");
  refused(1, -1, options, "latents of 1 x -1");
  options.frames_per_pass = -1;
  refused(1, 1, options, "-1 latent frames a pass");
  options = {};
  options.context.threads = -2;
  refused(1, 1, options, "-2 threads");
  options.context.threads = 1'000'000;
  refused(1, 1, options, "1000000 threads");
}

TEST(GoodLatents, EveryTypeAndAnyStridesDecodeToTheSameBits) {
  const Vae vae = Vae::open(golden("odd"));
  Latents latents(3, 2, 3);
  for (float& value : latents.values) value = std::round(8 * value) / 8;  // exact in every type
  const std::vector<float> expected = decode(vae, latents.view);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    std::vector<std::byte> stored(latents.values.size() * size_of(dtype));
    convert_from_f32(latents.values.data(), dtype, stored.data(), latents.view.elements());
    EXPECT_EQ(decode(vae, TensorView::dense(stored.data(), dtype, {48, 3, 2, 3})), expected)
        << to_string(dtype);
  }
  // Channels last, as [T, h, w, C].
  std::vector<float> turned(latents.values.size());
  for (std::size_t c = 0; c < 48; ++c) {
    for (std::size_t i = 0; i < 18; ++i) turned[i * 48 + c] = latents.values[c * 18 + i];
  }
  TensorView view = TensorView::dense(turned.data(), DType::kF32, {48, 3, 2, 3});
  view.strides = {1, 288, 144, 48};
  EXPECT_EQ(decode(vae, view), expected);
  // Every frame the same, by a stride of 0.
  Latents still(3, 2, 3);
  for (std::size_t c = 0; c < 48; ++c) {
    for (std::size_t i = 0; i < 18; ++i) still.values[c * 18 + i] = latents.values[c * 18 + i % 6];
  }
  TensorView repeated = latents.view;
  repeated.strides[1] = 0;
  EXPECT_EQ(decode(vae, repeated), decode(vae, still.view));
}

TEST(GoodLatents, NormalizedOnesAreScaledByMeanAndStd) {
  const Vae vae = Vae::open(golden("odd"));
  const Latents normalized(2, 1, 2);
  Latents raw(2, 1, 2);
  for (std::size_t i = 0; i < raw.values.size(); ++i) {
    raw.values[i] = static_cast<float>(double{raw.values[i]} * vae.config().latents_std[i / 4] +
                                       vae.config().latents_mean[i / 4]);
  }
  DecodeOptions options;
  options.scale = LatentScale::kNormalized;
  EXPECT_LE(test::largest_difference(decode(vae, normalized.view, options), decode(vae, raw.view)),
            test::kRounding);
}

}  // namespace
}  // namespace pantograph
