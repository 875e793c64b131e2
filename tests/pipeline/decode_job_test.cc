#include "pipeline/decode_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::fixture;
using test::golden;
using test::read_file;
using test::TempDir;

DecodeJob job(const fs::path& vae, const std::vector<fs::path>& latents, const fs::path& output) {
  DecodeJob made;
  made.vae = vae;
  made.latents = latents;
  made.output = output;
  return made;
}

// Every form of latents and two forms of weights in one table: one video.
TEST(DecodeJob, EveryFormGivesTheSameBytes) {
  const TempDir dir;
  run_decode(job(golden("odd"), {golden("odd/clips/t2_1x1.safetensors")}, dir / "x.safetensors"),
             {});
  const std::string expected = read_file(dir / "x.safetensors");
  std::vector<fs::path> finished;
  const DecodeSummary summary = run_decode(
      job(fixture("odd_native.pth"),
          {fixture("latents/clip.npy"), fixture("latents/clip_view.pt"),
           fixture("latents/comfyui.latent"), fixture("latents/others_beside.safetensors")},
          dir / "{}.safetensors"),
      {}, [&](const DecodedVideo& video) { finished.push_back(video.output); });
  EXPECT_EQ(finished, (std::vector<fs::path>{
                          dir / "clip.safetensors", dir / "clip_view.safetensors",
                          dir / "comfyui.safetensors", dir / "others_beside.safetensors"}));
  ASSERT_EQ(summary.videos.size(), 4U);
  EXPECT_EQ(summary.videos[1].latents, fixture("latents/clip_view.pt"));
  for (const fs::path& output : finished) EXPECT_EQ(read_file(output), expected) << output;
}

TEST(DecodeJob, NothingIsDecodedWhereOneFileIsWrong) {
  const TempDir dir;
  expect_error(ErrorKind::kNotFound, {"clip_f64.npy"}, [&] {
    run_decode(job(golden("odd"), {fixture("latents/clip.npy"), fixture("latents/clip_f64.npy")},
                   dir / "{}.safetensors"),
               {});
  });
  EXPECT_EQ(dir.entries(), 0);
}

TEST(DecodeJob, NoInputIsOverwritten) {
  const TempDir dir;
  const fs::path latents = dir / "clip.safetensors";
  fs::copy(golden("odd/clips/t2_1x1.safetensors"), latents);
  fs::copy(golden("odd_bf16"), dir / "vae");
  fs::create_symlink(latents, dir / "link.safetensors");
  for (const fs::path& output : {latents, dir / "link.safetensors", dir / "vae/config.json",
                                 dir / "vae/diffusion_pytorch_model.safetensors"}) {
    expect_error(ErrorKind::kInvalidArgument, {"is an input"},
                 [&] { run_decode(job(dir / "vae", {latents}, output), {}); });
  }
  EXPECT_EQ(read_file(latents), read_file(golden("odd/clips/t2_1x1.safetensors")));
}

}  // namespace
}  // namespace pantograph
