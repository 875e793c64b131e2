#include "core/temporary_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/as_ordinary_user.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;
using test::AsOrdinaryUser;
using test::expect_error;
using test::read_file;
using test::TempDir;
using test::write_file;

TEST(TemporaryOutput, CreatesNothingItself) {
  const TempDir dir;
  const TemporaryOutput output(dir / "clip.mp4");
  EXPECT_EQ(output.target(), dir / "clip.mp4");
  EXPECT_EQ(output.path().parent_path(), dir.path());
  EXPECT_EQ(output.path().filename().string().find(".clip.mp4.partial-"), 0U);
  EXPECT_EQ(dir.entries(), 0);
}

TEST(TemporaryOutput, AFileAppearsWithCommitOnly) {
  const TempDir dir;
  TemporaryOutput output(dir / "clip.mp4");
  write_file(output.path(), "frames");
  EXPECT_FALSE(fs::exists(dir / "clip.mp4"));
  output.commit();
  EXPECT_EQ(read_file(dir / "clip.mp4"), "frames");
  EXPECT_EQ(dir.entries(), 1);
}

TEST(TemporaryOutput, WithoutCommitAFileOrFolderIsRemoved) {
  const TempDir dir;
  write_file(dir / "clip.mp4", "before");
  {
    const TemporaryOutput file(dir / "clip.mp4");
    write_file(file.path(), "half");
    const TemporaryOutput folder(dir / "frames");
    fs::create_directory(folder.path());
    write_file(folder.path() / "frame_000000.png", "half");
    EXPECT_EQ(dir.entries(), 3);
  }
  EXPECT_EQ(dir.entries(), 1);
  EXPECT_EQ(read_file(dir / "clip.mp4"), "before");
}

TEST(TemporaryOutput, AFileReplacesAFile) {
  const TempDir dir;
  write_file(dir / "clip.mp4", "before");
  TemporaryOutput output(dir / "clip.mp4");
  write_file(output.path(), "after");
  output.commit();
  EXPECT_EQ(read_file(dir / "clip.mp4"), "after");
}

TEST(TemporaryOutput, AFileIsWrittenThroughASymbolicLink) {
  const TempDir dir;
  fs::create_directory(dir / "real");
  write_file(dir / "real/clip.mp4", "before");
  fs::create_symlink(dir / "real/clip.mp4", dir / "link.mp4");
  TemporaryOutput output(dir / "link.mp4");
  write_file(output.path(), "after");
  output.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "link.mp4"));
  EXPECT_EQ(read_file(dir / "real/clip.mp4"), "after");
}

TEST(TemporaryOutput, AFolderAppearsWithCommitOnly) {
  const TempDir dir;
  TemporaryOutput output(dir / "frames/");  // a slash at the end changes nothing
  fs::create_directory(output.path());
  write_file(output.path() / "a.png", "a");
  EXPECT_FALSE(fs::exists(dir / "frames"));
  output.commit();
  EXPECT_EQ(read_file(dir / "frames/a.png"), "a");
  EXPECT_EQ(dir.entries(), 1);
}

TEST(TemporaryOutput, AFolderMovesIntoAFolderThatIsThere) {
  const TempDir dir;
  fs::create_directory(dir / "frames");
  write_file(dir / "frames/a.png", "old a");
  write_file(dir / "frames/notes.txt", "keep");
  {
    TemporaryOutput output(dir / "frames");
    fs::create_directory(output.path());
    write_file(output.path() / "a.png", "new a");
    write_file(output.path() / "b.png", "new b");
    output.commit();
  }
  EXPECT_EQ(read_file(dir / "frames/a.png"), "new a");
  EXPECT_EQ(read_file(dir / "frames/b.png"), "new b");
  EXPECT_EQ(read_file(dir / "frames/notes.txt"), "keep");
  EXPECT_EQ(dir.entries(), 1);
}

TEST(TemporaryOutput, SeveralForOneTargetDoNotMeet) {
  const TempDir dir;
  const TemporaryOutput first(dir / "clip.mp4");
  const TemporaryOutput second(dir / "clip.mp4");
  EXPECT_NE(first.path(), second.path());
}

TEST(TemporaryOutput, ANameThatDiedBehindIsNotTakenAgain) {
  const TempDir dir;
  const std::string path = TemporaryOutput(dir / "clip.mp4").path().string();
  const std::size_t number = path.rfind('-') + 1;
  const std::string next =
      path.substr(0, number) + std::to_string(std::stoi(path.substr(number)) + 1);
  write_file(next, "left behind");
  EXPECT_NE(TemporaryOutput(dir / "clip.mp4").path().string(), next);
  EXPECT_EQ(read_file(next), "left behind");
}

TEST(TemporaryOutput, TheLongestNameFits) {
  const TempDir dir;
  const std::string name = std::string(251, 'x') + ".mp4";
  TemporaryOutput output(dir / name);
  write_file(output.path(), "frames");
  output.commit();
  EXPECT_EQ(read_file(dir / name), "frames");
}

TEST(TemporaryOutput, AMissingFolderIsFoundAtOnce) {
  const TempDir dir;
  expect_error(ErrorKind::kNotFound,
               {"the folder " + (dir / "none").string() + " of the output", "create it first"},
               [&] { TemporaryOutput(dir / "none/clip.mp4"); });
}

TEST(TemporaryOutput, AParentThatIsAFileIsFoundAtOnce) {
  const TempDir dir;
  write_file(dir / "file", "x");
  expect_error(ErrorKind::kIo, {"is not a folder"},
               [&] { TemporaryOutput(dir / "file/clip.mp4"); });
}

TEST(TemporaryOutput, AFolderThatCannotBeWrittenIsFoundAtOnce) {
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  fs::create_directory(dir / "closed");
  ASSERT_EQ(::chmod((dir / "closed").c_str(), 0555), 0);
  const AsOrdinaryUser user;
  expect_error(ErrorKind::kIo, {"clip.mp4", (dir / "closed").string(), "Permission denied"},
               [&] { TemporaryOutput(dir / "closed/clip.mp4"); });
}

TEST(TemporaryOutput, ADeviceIsNotReplaced) {
  expect_error(ErrorKind::kInvalidArgument, {"/dev/null is a device or a pipe"},
               [] { TemporaryOutput("/dev/null"); });
}

TEST(TemporaryOutput, AnEmptyNameIsRefused) {
  expect_error(ErrorKind::kInvalidArgument, {"no file name"}, [] { TemporaryOutput(""); });
  expect_error(ErrorKind::kInvalidArgument, {"no file name"}, [] { TemporaryOutput("/"); });
}

TEST(TemporaryOutput, AFileDoesNotReplaceAFolderNorAFolderAFile) {
  const TempDir dir;
  fs::create_directory(dir / "folder");
  write_file(dir / "file", "keep");
  TemporaryOutput file(dir / "folder");
  write_file(file.path(), "x");
  expect_error(ErrorKind::kIo, {(dir / "folder").string(), "Is a directory"},
               [&] { file.commit(); });
  TemporaryOutput folder(dir / "file");
  fs::create_directory(folder.path());
  expect_error(ErrorKind::kIo, {(dir / "file").string(), "Not a directory"},
               [&] { folder.commit(); });
  EXPECT_EQ(read_file(dir / "file"), "keep");
}

}  // namespace
}  // namespace pantograph
