// The decoder against diffusers in fp32.
#include <gtest/gtest.h>

#include <cmath>

#include "support/golden_clip.h"

namespace pantograph {
namespace {

using test::Clip;
using test::CollectingSink;
using test::golden;
using test::largest_difference;

constexpr double kTolerance = 2e-4;

class GoldenClip : public testing::TestWithParam<Clip> {};

TEST_P(GoldenClip, DecodesAsDiffusersDoes) {
  const Vae vae = Vae::open(golden(GetParam().checkpoint));
  for_each_video(GetParam(), [&](const TensorView& latents, const TensorView& video) {
    CollectingSink sink;
    vae.decode(latents, sink);
    EXPECT_LE(largest_difference(sink, video), kTolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenClip,
    testing::Values(Clip{"tiny", "tiny", "t1_1x1"}, Clip{"tiny", "tiny", "t1_2x2"},
                    Clip{"tiny", "tiny", "t2_3x5"}, Clip{"tiny", "tiny", "t3_1x2"},
                    Clip{"tiny", "tiny", "t5_1x1"}, Clip{"tiny", "tiny", "b2_t2_1x2"},
                    Clip{"tiny", "tiny", "t2_2x1_normalized"}, Clip{"odd", "odd", "t1_1x3"},
                    Clip{"odd", "odd", "t2_1x1"}, Clip{"odd", "odd", "t3_3x1"},
                    Clip{"odd_sharded", "odd", "t1_1x3"}, Clip{"odd_sharded", "odd", "t2_1x1"},
                    Clip{"odd_sharded", "odd", "t3_3x1"}, Clip{"odd_bf16", "odd_bf16", "t2_1x2"},
                    Clip{"odd_f16", "odd_f16", "t2_1x2"}));

TEST(VaeGolden, NormalizedLatentsAreScaledByTheConfigsMeanAndStd) {
  const Vae vae = Vae::open(golden("tiny"));
  const SafetensorsFile file =
      SafetensorsFile::open(golden("tiny/clips/t2_2x1_normalized.safetensors"));
  CollectingSink sink;
  vae.decode(file.view("latents_normalized"), sink, {.scale = LatentScale::kNormalized});
  EXPECT_LE(largest_difference(sink, file.view("video")), kTolerance);
}

}  // namespace
}  // namespace pantograph
