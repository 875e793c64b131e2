// One set of weights in every form that people have: the same bytes out.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "models/wan_vae/checkpoint.h"
#include "models/wan_vae/config.h"
#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;
using test::CollectingSink;
using test::expect_error;
using test::fixture;
using test::golden;
using test::TempDir;

std::vector<float> decoded(const fs::path& vae, const fs::path& clip) {
  const SafetensorsFile file = SafetensorsFile::open(clip);
  CollectingSink sink;
  Vae::open(vae).decode(file.view("latents"), sink);
  return sink.pixels;
}

// Tensors of zeros.
void write_tensors(const fs::path& path,
                   const std::map<std::string, std::vector<std::int64_t>>& shapes) {
  std::vector<NamedTensor> tensors;
  std::size_t bytes = 0;
  for (const auto& [name, shape] : shapes) {
    tensors.push_back({.name = name, .dtype = DType::kF32, .shape = shape});
    bytes += TensorView::dense(nullptr, DType::kF32, shape).bytes();
  }
  SafetensorsWriter writer(path, tensors);
  const std::vector<char> zeros(bytes);
  writer.append(zeros.data(), bytes);
  writer.finish();
}

TEST(VaeForms, TheReleasesTorchFileDecodesToTheSameBytes) {
  const fs::path clip = golden("odd/clips/t3_3x1.safetensors");
  const std::vector<float> expected = decoded(golden("odd"), clip);
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(decoded(fixture("odd_native.pth"), clip), expected);
}

TEST(VaeForms, ATrainingCheckpointDecodesToTheSameBytes) {
  const fs::path clip = golden("odd_bf16/clips/t2_1x2.safetensors");
  EXPECT_EQ(decoded(fixture("odd_bf16.pt"), clip), decoded(golden("odd_bf16"), clip));
}

TEST(VaeForms, OneFileOfDiffusersNamesDecodesToTheSameBytes) {
  const fs::path clip = golden("odd/clips/t3_3x1.safetensors");
  EXPECT_EQ(decoded(golden("odd/diffusion_pytorch_model.safetensors"), clip),
            decoded(golden("odd"), clip));
}

TEST(VaeForms, TheConfigIsToldByTheShapes) {
  for (const char* name : {"tiny", "odd"}) {
    const Checkpoint folder = wan_vae::open_vae_checkpoint(golden(name));
    const Checkpoint file =
        wan_vae::open_vae_checkpoint(golden(name) / "diffusion_pytorch_model.safetensors");
    const VaeConfig expected = wan_vae::parse_config(folder.config, "folder");
    const VaeConfig inferred = wan_vae::parse_config(file.config, "file");
    EXPECT_EQ(inferred.latent_channels, expected.latent_channels);
    EXPECT_EQ(inferred.decoder_base_channels, expected.decoder_base_channels);
    EXPECT_EQ(inferred.channel_multipliers, expected.channel_multipliers);
    EXPECT_EQ(inferred.residual_blocks, expected.residual_blocks);
    EXPECT_EQ(inferred.temporal_downsample, expected.temporal_downsample);
    EXPECT_EQ(inferred.patch_size, expected.patch_size);
    EXPECT_EQ(inferred.latents_mean, wan_vae::released_config().latents_mean);
    EXPECT_EQ(inferred.latents_std, wan_vae::released_config().latents_std);
  }
  const Checkpoint odd =
      wan_vae::open_vae_checkpoint(golden("odd/diffusion_pytorch_model.safetensors"));
  EXPECT_EQ(*odd.config.find("base_dim")->integer(), 2);  // from the encoder, which tiny lacks
}

TEST(VaeForms, TheWan21VaeIsRefusedByName) {
  const TempDir dir;
  write_tensors(dir / "native.safetensors",
                {{"conv2.weight", {16, 16, 1, 1, 1}}, {"decoder.conv1.weight", {4, 16, 3, 3, 3}}});
  write_tensors(dir / "diffusers.safetensors", {{"post_quant_conv.weight", {16, 16, 1, 1, 1}},
                                                {"decoder.conv_in.weight", {4, 16, 3, 3, 3}}});
  for (const char* name : {"native.safetensors", "diffusers.safetensors"}) {
    expect_error(ErrorKind::kUnsupported,
                 {name, "this is the Wan2.1 VAE (16 latent channels); expected the Wan2.2 VAE"},
                 [&] { Vae::open(dir / name); });
  }
}

TEST(VaeForms, FilesThatAreNoVae) {
  const TempDir dir;
  const auto refused = [&](const std::map<std::string, std::vector<std::int64_t>>& shapes,
                           std::string_view says) {
    write_tensors(dir / "x.safetensors", shapes);
    expect_error(ErrorKind::kFormat, {"x.safetensors: ", says},
                 [&] { Vae::open(dir / "x.safetensors"); });
  };
  const std::vector<std::int64_t> latent{48, 48, 1, 1, 1};
  refused({{"blocks.0.weight", {2, 2}}}, "no tensor post_quant_conv.weight, so not the Wan2.2 VAE");
  refused({{"post_quant_conv.weight", {32, 32, 1, 1, 1}}}, "32 latent channels, not 48");
  refused({{"post_quant_conv.weight", latent}}, "no tensor decoder.up_blocks.0.resnets.0");
  const std::string block = "decoder.up_blocks.0.resnets.0.conv1.weight";
  refused({{"post_quant_conv.weight", latent}, {block, {4, 4, 3, 3, 3}}},
          "no tensor decoder.conv_out.weight");
  refused({{"post_quant_conv.weight", latent},
           {block, {4, 4, 3, 3, 3}},
           {"decoder.conv_out.weight", {13, 4, 3, 3, 3}}},
          "13 output channels are no RGB patch");
  refused({{"post_quant_conv.weight", latent},
           {block, {4, 4, 3, 3, 3}},
           {"decoder.conv_out.weight", {12, 4, 3, 3, 3}}},
          "\"num_res_blocks\" must be a whole number from 1 to 64, not 0");
  refused({{"conv2.bias", {48}}, {"post_quant_conv.bias", {48}}, {"decoder.conv1.weight", {1}}},
          "is there under diffusers' name too");
}

}  // namespace
}  // namespace pantograph
