#include "pipeline/latents_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "core/half.h"
#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::elements_of;
using test::expect_error;
using test::fixture;
using test::golden;

// What the generator stored in every form: odd's t2_1x1.
std::vector<float> original() {
  const SafetensorsFile file = SafetensorsFile::open(golden("odd/clips/t2_1x1.safetensors"));
  return elements_of<float>(file.view("latents"));
}

LatentsFile open(const std::string& name, const std::optional<std::string>& tensor = {}) {
  return LatentsFile::open(fixture("latents/" + name), tensor);
}

class LatentsForm : public testing::TestWithParam<const char*> {};

TEST_P(LatentsForm, HoldsTheSameClip) {
  const LatentsFile latents = open(GetParam());
  ASSERT_EQ(latents.clips().size(), 1U);
  const TensorView& clip = latents.clips().front();
  EXPECT_EQ(std::vector<std::int64_t>(clip.sizes().begin(), clip.sizes().end()),
            (std::vector<std::int64_t>{48, 2, 1, 1}));
  EXPECT_EQ(elements_of<float>(clip), original());
}

INSTANTIATE_TEST_SUITE_P(All, LatentsForm,
                         testing::Values("clip.npy", "clip_v2.npy", "clip_v3.npy",
                                         "clip_fortran.npy", "clip.pt", "clip_dict.pt",
                                         "clip_view.pt", "comfyui.latent",
                                         "others_beside.safetensors"));

TEST(LatentsFile, HalfPrecisionArrays) {
  const std::vector<float> expected = original();
  const LatentsFile latents = open("clip_f16.npy");
  EXPECT_EQ(latents.clips().front().dtype, DType::kF16);
  const auto values = elements_of<std::uint16_t>(latents.clips().front());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], float_to_f16(expected[i]));
}

TEST(LatentsFile, TheTensorThatIsNamed) {
  const LatentsFile noise = open("others_beside.safetensors", "noise");
  EXPECT_EQ(elements_of<float>(noise.clips().front())[0], original()[0] + 1);
  expect_error(ErrorKind::kNotFound, {"no tensor \"x\"; it holds latents f32 [48, 2, 1, 1], noise"},
               [] { open("others_beside.safetensors", "x"); });
  expect_error(ErrorKind::kInvalidArgument, {"\"timesteps\" is i64 [3]; latents are"},
               [] { open("others_beside.safetensors", "timesteps"); });
}

TEST(LatentsFile, ComfyUisFirstFormatIsNotTakenForItsSecond) {
  expect_error(ErrorKind::kUnsupported,
               {"comfyui_old.latent", "latent_format_version_0", "--tensor latent_tensor"},
               [] { open("comfyui_old.latent"); });
  EXPECT_EQ(elements_of<float>(open("comfyui_old.latent", "latent_tensor").clips().front()),
            original());
}

TEST(LatentsFile, WhatCannotBeLatents) {
  expect_error(ErrorKind::kNotFound, {"clip_f64.npy", "it holds array f64 [48, 2, 1, 1]"},
               [] { open("clip_f64.npy"); });
  expect_error(ErrorKind::kNotFound, {"tensor.pt", "it holds tensor f32 [2, 3, 4]"},
               [] { LatentsFile::open(fixture("torch/tensor.pt"), {}); });
}

// Standard input is a pipe that gives a file's bytes.
TEST(LatentsFile, AStream) {
  const std::string bytes = test::read_file(golden("odd/clips/t2_1x1.safetensors"));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int before = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<::ssize_t>(bytes.size()));
  ::close(ends[1]);
  const LatentsFile latents = LatentsFile::open("-", {});
  EXPECT_EQ(elements_of<float>(latents.clips().front()), original());
  expect_error(ErrorKind::kFormat, {"standard input: nothing came"},
               [] { LatentsFile::open("-", {}); });
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  ::close(ends[0]);
}

}  // namespace
}  // namespace pantograph
