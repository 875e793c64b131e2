#include "pipeline/clip_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TempDir;
using test::write_file;
using Paths = std::vector<fs::path>;

TEST(FindLatents, FilesFoldersAndPatterns) {
  const TempDir dir;
  for (const char* name : {"b.latent", "a.npy", "c.pt", "note.txt"}) write_file(dir / name, "x");
  fs::create_directory(dir / "d.pt");
  EXPECT_EQ(find_latents({dir.path()}), (Paths{dir / "a.npy", dir / "b.latent", dir / "c.pt"}));
  EXPECT_EQ(find_latents({dir / "[ab].*"}), (Paths{dir / "a.npy", dir / "b.latent"}));
  EXPECT_EQ(find_latents({"-", dir / "note.txt", "none"}), (Paths{"-", dir / "note.txt", "none"}));
  write_file(dir / "x[1].pt", "x");  // a name before a pattern
  EXPECT_EQ(find_latents({dir / "x[1].pt"}), Paths{dir / "x[1].pt"});
}

TEST(FindLatents, NothingFoundIsAnError) {
  const TempDir dir;
  expect_error(ErrorKind::kNotFound, {"no latents in the folder"},
               [&] { find_latents({dir.path()}); });
  expect_error(ErrorKind::kNotFound, {"*.npy: no file has such a name"},
               [&] { find_latents({dir / "*.npy"}); });
}

TEST(NameOutputs, OneFileHasTheOutputItself) {
  const TempDir dir;
  const Paths one{"d/a.npy"};
  EXPECT_EQ(name_outputs("x.mp4", one, one), Paths{"x.mp4"});
  EXPECT_EQ(name_outputs(dir.path(), one, one), Paths{dir.path()});  // PNG frames
  EXPECT_EQ(name_outputs("out/{}.mp4", one, one), Paths{"out/a.mp4"});
}

TEST(NameOutputs, SeveralFilesAreNamedByTheirStems) {
  const TempDir dir;
  const Paths files{"d/a.npy", "e/b.x.latent", "-"};
  EXPECT_EQ(name_outputs("out/", files, files),
            (Paths{"out/a.mp4", "out/b.x.mp4", "out/stdin.mp4"}));
  EXPECT_EQ(name_outputs(dir.path(), files, files),
            (Paths{dir / "a.mp4", dir / "b.x.mp4", dir / "stdin.mp4"}));
  EXPECT_EQ(name_outputs("{}/frames", {"*.npy"}, {"a.npy", "b.npy"}),
            (Paths{"a/frames", "b/frames"}));
}

// Its videos are named alike, however many files it holds today.
TEST(NameOutputs, AFolderOfOneFile) {
  EXPECT_EQ(name_outputs("out/", {"d"}, {"d/a.npy"}), Paths{"out/a.mp4"});
  expect_error(ErrorKind::kInvalidArgument, {"several files of latents (here 1)"},
               [] { name_outputs("x.mp4", {"d"}, {"d/a.npy"}); });
}

TEST(NameOutputs, SeveralFilesNeedSeveralNames) {
  const auto refused = [](const fs::path& output, const Paths& files, std::string_view says) {
    expect_error(ErrorKind::kInvalidArgument, {says}, [&] { name_outputs(output, files, files); });
  };
  refused("x.mp4", {"a.npy", "b.npy"}, "x.mp4: several files of latents (here 2) need as many");
  refused("o/", {"d/a.npy", "e/a.pt"}, "d/a.npy and e/a.pt would both be written to o/a.mp4");
}

TEST(RefuseOverwriting, WhateverTheInputIsCalled) {
  const TempDir dir;
  fs::create_directories(dir / "vae/sub");
  const fs::path input = write_file(dir / "vae/sub/w.safetensors", "x");
  fs::create_symlink("nowhere", dir / "vae/a_broken_link");
  fs::create_symlink(input, dir / "soft");
  fs::create_hard_link(input, dir / "hard");
  for (const fs::path& output :
       {input, dir / "soft", dir / "hard", dir / "vae/./sub/../sub/w.safetensors"}) {
    expect_error(ErrorKind::kInvalidArgument, {output.string(), "is an input"},
                 [&] { refuse_overwriting(output, {input}); });
    expect_error(ErrorKind::kInvalidArgument, {output.string(), "is an input"},
                 [&] { refuse_overwriting(output, {dir / "vae"}); });
  }
  write_file(dir / "other", "x");
  EXPECT_NO_THROW(refuse_overwriting(dir / "other", {input, dir / "vae"}));
  EXPECT_NO_THROW(refuse_overwriting(dir / "new", {input, dir / "vae", "-"}));
}

}  // namespace
}  // namespace pantograph
