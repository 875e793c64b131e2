#include "models/wan_vae/native_names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/fixture.h"

namespace pantograph::wan_vae {
namespace {

// All 196 tensors of the release, as diffusers' convert_wan_to_diffusers.py renames them.
TEST(NativeNames, AreThoseOfDiffusersScript) {
  std::ifstream file(test::fixture("native_names.txt"));
  int count = 0;
  for (std::string native, diffusers; file >> native >> diffusers; ++count) {
    EXPECT_EQ(diffusers_name(native), diffusers);
    EXPECT_EQ(native_name(diffusers, 2), native);
  }
  EXPECT_EQ(count, 196);
}

TEST(NativeNames, TheResamplerComesAfterTheResidualBlocks) {
  EXPECT_EQ(native_name("decoder.up_blocks.10.upsampler.time_conv.bias", 1),
            "decoder.upsamples.10.upsamples.2.time_conv.bias");
  EXPECT_EQ(native_name("encoder.down_blocks.0.downsampler.resample.1.weight", 1),
            "encoder.downsamples.0.downsamples.1.resample.1.weight");
}

TEST(NativeNames, OtherNamesStay) {
  for (const char* name :
       {"", "x", "conv1", "decoder.upsamples.", "decoder.upsamples.0.x",
        "decoder.upsamples.x.upsamples.0.shortcut.bias", "decoder.upsamples.0.residual.2.weight"}) {
    EXPECT_EQ(diffusers_name(name), name);
    EXPECT_EQ(native_name(name, 2), name);
  }
}

}  // namespace
}  // namespace pantograph::wan_vae
