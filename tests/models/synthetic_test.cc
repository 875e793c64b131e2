#include "models/wan_vae/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "checkpoint/safetensors.h"
#include "core/convert.h"
#include "core/half.h"
#include "models/vae_test.h"
#include "models/wan_vae/config.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph::wan_vae {
namespace {

using test::expect_error;
using test::read_file;
using test::TempDir;

constexpr const char* kWeights = "diffusion_pytorch_model.safetensors";

std::vector<float> values(const TensorView& view) {
  std::vector<float> all(static_cast<std::size_t>(view.elements()));
  convert_to_f32(view.dtype, view.data, all.data(), view.elements());
  return all;
}

TEST(SyntheticCheckpoint, HasTheNamesShapesAndTypeOfItsConfig) {
  const TempDir folder;
  make_checkpoint(folder / "vae", tiny_config(), 1, DType::kBF16);
  const Checkpoint checkpoint = open_checkpoint(folder / "vae");
  const VaeConfig config = parse_config(checkpoint.config, "config.json");
  EXPECT_EQ(config.decoder_base_channels, 8);
  EXPECT_EQ(config.latent_channels, 48);
  EXPECT_EQ(config.latents_std, released_config().latents_std);
  EXPECT_TRUE(check_tensors(config, checkpoint).empty());
  EXPECT_TRUE(check_encoder_tensors(config, checkpoint).empty());
  EXPECT_EQ(checkpoint.tensors.size(), 110U + 86U);  // decoder, encoder
  for (const auto& [name, tensor] : checkpoint.tensors) {
    EXPECT_EQ(tensor.view.dtype, DType::kBF16) << name;
  }
}

TEST(SyntheticCheckpoint, IsDistributedAsItSays) {
  const TempDir folder;
  make_checkpoint(folder.path(), tiny_config(), 1, DType::kF32);
  const SafetensorsFile file = SafetensorsFile::open(folder / kWeights);
  double gammas = 0, gamma_sum = 0, gamma_squares = 0;
  for (const auto& [name, entry] : file.header().tensors) {
    const std::vector<float> all = values(file.view(name));
    const auto count = static_cast<double>(all.size());
    for (const float value : all) {
      ASSERT_EQ(value, bf16_to_float(float_to_bf16(value))) << name;  // rounded to bf16
    }
    double sum = 0, squares = 0;
    for (const float value : all) {
      sum += value;
      squares += double{value} * value;
    }
    if (name.ends_with(".gamma")) {
      gammas += count;
      gamma_sum += sum;
      gamma_squares += squares;
      continue;
    }
    const std::string weight = name.substr(0, name.rfind('.')) + ".weight";
    const auto& shape = file.header().tensors.at(weight).shape;
    double fan_in = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
    const double bound = 1.2 / std::sqrt(fan_in);
    for (const float value : all) ASSERT_LE(std::abs(value), bound * (1 + 1.0 / 256)) << name;
    // A uniform distribution's variance is bound^2 / 3; five standard errors of each.
    EXPECT_NEAR(sum / count, 0, 5 * bound / std::sqrt(3 * count)) << name;
    EXPECT_NEAR(squares / count, bound * bound / 3, 5 * bound * bound * 0.3 / std::sqrt(count))
        << name;
  }
  ASSERT_GT(gammas, 500);
  const double mean = gamma_sum / gammas;
  EXPECT_NEAR(mean, 1, 5 * 0.2 / std::sqrt(gammas));
  EXPECT_NEAR(std::sqrt(gamma_squares / gammas - mean * mean), 0.2,
              5 * 0.2 / std::sqrt(2 * gammas));
}

TEST(SyntheticCheckpoint, TheSameSeedGivesTheSameBytes) {
  const TempDir folder;
  make_checkpoint(folder / "a", tiny_config(), 7, DType::kF16);
  make_checkpoint(folder / "b", tiny_config(), 7, DType::kF16);
  make_checkpoint(folder / "c", tiny_config(), 8, DType::kF16);
  const auto weights = [&](const char* name) { return read_file(folder / name / kWeights); };
  EXPECT_EQ(weights("a"), weights("b"));
  EXPECT_NE(weights("a"), weights("c"));
  EXPECT_EQ(read_file(folder / "a" / "config.json"), read_file(folder / "c" / "config.json"));
}

TEST(SyntheticCheckpoint, EveryTypeHoldsTheSameNumbers) {
  const TempDir folder;
  const auto written = [&](DType dtype) {
    make_checkpoint(folder / to_string(dtype), tiny_config(), 7, dtype);
    return SafetensorsFile::open(folder / to_string(dtype) / kWeights);
  };
  const SafetensorsFile f32 = written(DType::kF32), bf16 = written(DType::kBF16),
                        f16 = written(DType::kF16);
  for (const auto& [name, entry] : f32.header().tensors) {
    const std::vector<float> expected = values(f32.view(name));
    ASSERT_EQ(values(bf16.view(name)), expected) << name;
    const std::vector<float> halves = values(f16.view(name));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // bf16's 8 bits fit f16's 11, down to its subnormals' step of 2^-24.
      ASSERT_NEAR(halves[i], expected[i], 0x1p-25F) << name;
    }
  }
}

TEST(SyntheticCheckpoint, DecodesToAPictureThatIsNeitherFlatNorSaturated) {
  const TempDir folder;
  make_checkpoint(folder.path(), tiny_config(), 7, DType::kBF16);
  make_latents(folder / "latents.safetensors", 2, 2, 3, 1, DType::kBF16);
  const Vae vae = Vae::open(folder.path());
  const SafetensorsFile latents = SafetensorsFile::open(folder / "latents.safetensors");
  const std::vector<float> pixels = test::decode(vae, latents.view("latents"));
  double squares = 0;
  std::size_t saturated = 0;
  for (const float pixel : pixels) {
    ASSERT_TRUE(std::abs(pixel) <= 1);
    squares += double{pixel} * pixel;
    saturated += std::abs(pixel) == 1 ? 1 : 0;
  }
  EXPECT_GT(std::sqrt(squares / static_cast<double>(pixels.size())), 0.05);
  EXPECT_LT(saturated, pixels.size() / 2);
}

TEST(SyntheticLatents, AreNormalAndAShorterClipIsAPrefix) {
  const TempDir folder;
  make_latents(folder / "long", 5, 3, 4, 9, DType::kF32);
  make_latents(folder / "short", 2, 3, 4, 9, DType::kF32);
  make_latents(folder / "bf16", 5, 3, 4, 9, DType::kBF16);
  const SafetensorsFile all_file = SafetensorsFile::open(folder / "long");
  const TensorView view = all_file.view("latents");
  ASSERT_EQ(view.rank, 4);
  EXPECT_EQ(view.shape[0], 48);
  EXPECT_EQ(view.shape[1], 5);
  EXPECT_EQ(view.shape[2], 3);
  EXPECT_EQ(view.shape[3], 4);
  const std::vector<float> all = values(view);
  const std::vector<float> some = values(SafetensorsFile::open(folder / "short").view("latents"));
  for (std::size_t c = 0; c < 48; ++c) {
    for (std::size_t i = 0; i < 24; ++i) ASSERT_EQ(some[c * 24 + i], all[c * 60 + i]);
  }
  EXPECT_EQ(values(SafetensorsFile::open(folder / "bf16").view("latents")), all);
  double sum = 0, squares = 0;
  for (const float value : all) {
    sum += value;
    squares += double{value} * value;
  }
  const auto count = static_cast<double>(all.size());
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
}

TEST(SyntheticLatents, ImpossibleSizesAreRefused) {
  const TempDir folder;
  for (const auto& [t, h, w] : {std::array<std::int64_t, 3>{0, 1, 1}, {1, -1, 1}, {1, 1, 0}}) {
    expect_error(ErrorKind::kInvalidArgument, {"each must be at least 1"},
                 [&] { make_latents(folder / "x", t, h, w, 1, DType::kF32); });
  }
  constexpr std::int64_t kLarge = 1'000'000'000;
  expect_error(ErrorKind::kInvalidArgument, {"more than 2^63 bytes"},
               [&] { make_latents(folder / "x", kLarge, kLarge, kLarge, 1, DType::kF32); });
  EXPECT_EQ(folder.entries(), 0);
}

}  // namespace
}  // namespace pantograph::wan_vae
