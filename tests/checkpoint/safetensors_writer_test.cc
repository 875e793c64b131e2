#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/reference_safetensors.h"
#include "checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::kReferenceData;
using test::kReferenceFile;
using test::read_file;
using test::TempDir;
using test::write_file;

const std::vector<NamedTensor> kTensors{
    {.name = "a", .dtype = DType::kI64, .shape = {2}},
    {.name = "empty", .dtype = DType::kF32, .shape = {0, 3}},
    {.name = "scalar", .dtype = DType::kF32, .shape = {}},
    {.name = "b.weight", .dtype = DType::kBF16, .shape = {1, 3}}};

// Files cannot grow beyond `bytes` while this lives: a full disk, as far as a writer can tell.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(SafetensorsWriter, WritesTheBytesOfTheReferenceLibrary) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{26}}) {
    const TempDir dir;
    SafetensorsWriter writer(dir / "x.safetensors", kTensors, {{"format", "pt"}});
    for (std::size_t begin = 0; begin < kReferenceData.size(); begin += piece) {
      writer.append(kReferenceData.data() + begin, std::min(piece, kReferenceData.size() - begin));
    }
    EXPECT_FALSE(std::filesystem::exists(dir / "x.safetensors"));
    writer.finish();
    EXPECT_EQ(read_file(dir / "x.safetensors"), kReferenceFile);
    EXPECT_EQ(dir.entries(), 1);
  }
}

TEST(SafetensorsWriter, WritesAFileWithoutTensors) {
  const TempDir dir;
  SafetensorsWriter(dir / "x.safetensors", {}).finish();
  EXPECT_EQ(read_file(dir / "x.safetensors"), test::safetensors_bytes("{}      ", ""));
}

TEST(SafetensorsWriter, LeavesNothingWhenNotFinished) {
  const TempDir dir;
  write_file(dir / "x.safetensors", "before");
  {
    SafetensorsWriter writer(dir / "x.safetensors", kTensors);
    writer.append(kReferenceData.data(), 10);
    const SafetensorsWriter moved = std::move(writer);
    EXPECT_EQ(dir.entries(), 2);
  }
  EXPECT_EQ(dir.entries(), 1);
  EXPECT_EQ(read_file(dir / "x.safetensors"), "before");
}

TEST(SafetensorsWriter, MissingBytesAndBytesTooManyAreDefects) {
  const TempDir dir;
  SafetensorsWriter writer(dir / "x.safetensors", kTensors);
  writer.append(kReferenceData.data(), 20);
  expect_error(ErrorKind::kInternal, {"x.safetensors: 6 bytes are missing"},
               [&] { writer.finish(); });
  expect_error(ErrorKind::kInternal, {"x.safetensors: 7 bytes given where 6 are missing"},
               [&] { writer.append(kReferenceData.data(), 7); });
}

TEST(SafetensorsWriter, NamesGivenTwiceAreRefused) {
  const TempDir dir;
  const auto refused = [&dir](const std::vector<NamedTensor>& tensors, std::string_view says) {
    expect_error(ErrorKind::kInvalidArgument, {says},
                 [&] { SafetensorsWriter(dir / "x.safetensors", tensors); });
  };
  refused({kTensors[0], kTensors[0]}, "\"a\"");
  refused({{.name = "__metadata__", .dtype = DType::kU8, .shape = {1}}}, "\"__metadata__\"");
  refused({{.name = "t", .dtype = DType::kU8, .shape = {-1}}}, "size -1");
  refused({{.name = "t", .dtype = DType::kU8, .shape = {INT64_MAX}},
           {.name = "u", .dtype = DType::kU8, .shape = {1}}},
          "more than 2^63 bytes");
  EXPECT_EQ(dir.entries(), 0);
}

TEST(SafetensorsWriter, APlaceThatCannotTakeTheFileIsFoundAtOnce) {
  const TempDir dir;
  expect_error(ErrorKind::kIo, {dir.path().string(), "is a folder"},
               [&] { SafetensorsWriter(dir.path(), kTensors); });
  expect_error(ErrorKind::kNotFound, {"none", "does not exist"},
               [&] { SafetensorsWriter(dir / "none/x.safetensors", kTensors); });
}

TEST(SafetensorsWriter, AFullDiskIsAnErrorAndLeavesNothing) {
  const TempDir dir;
  const std::string target = (dir / "x.safetensors").string();
  const std::string megabyte(1 << 20, 'x');
  const std::vector<NamedTensor> big{{.name = "t", .dtype = DType::kU8, .shape = {1 << 20}}};
  {
    const FileSizeLimit limit(4096);
    SafetensorsWriter writer(target, big);
    expect_error(ErrorKind::kIo, {target + ": cannot be written: File too large"}, [&] {
      writer.append(megabyte.data(), megabyte.size());
      writer.finish();
    });
  }
  EXPECT_EQ(dir.entries(), 0);
}

// What the C library still buffers is written by finish() and can fail there.
TEST(SafetensorsWriter, ADiskThatFillsWithTheLastBytesIsAnError) {
  const TempDir dir;
  {
    SafetensorsWriter writer(dir / "x.safetensors", kTensors);
    writer.append(kReferenceData.data(), kReferenceData.size());
    const FileSizeLimit limit(16);
    expect_error(ErrorKind::kIo, {"x.safetensors: cannot be written: File too large"},
                 [&] { writer.finish(); });
  }
  EXPECT_EQ(dir.entries(), 0);
}

}  // namespace
}  // namespace pantograph
