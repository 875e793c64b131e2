#include "checkpoint/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "support/as_ordinary_user.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::AsOrdinaryUser;
using test::expect_error;
using test::TempDir;
using test::write_file;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Kilobytes of the mapping that begins at `address` that are in this process's memory.
long resident_kilobytes(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    long kilobytes = 0;
    if (std::sscanf(line.c_str(), "%lx-", &begin) == 1 && line.find('-') < 20) {
      found = begin == reinterpret_cast<std::uintptr_t>(address);
    } else if (found && std::sscanf(line.c_str(), "Rss: %ld kB", &kilobytes) == 1) {
      return kilobytes;
    }
  }
  return -1;
}

TEST(MappedFile, HoldsTheFilesBytes) {
  const TempDir dir;
  const MappedFile file(write_file(dir / "a.bin", std::string("a\0b", 3)));
  EXPECT_EQ(text_of(file.bytes()), std::string("a\0b", 3));
  EXPECT_EQ(file.path(), dir / "a.bin");
}

TEST(MappedFile, StaysValidWhenTheNameIsGone) {
  const TempDir dir;
  const MappedFile file(write_file(dir / "a.bin", "bytes"));
  std::filesystem::remove(dir / "a.bin");
  EXPECT_EQ(text_of(file.bytes()), "bytes");
}

TEST(MappedFile, ReleasedPagesLeaveMemoryAndReadTheSame) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const long page_kilobytes = static_cast<long>(page / 1024);
  constexpr std::size_t kPages = 64;
  std::string content(kPages * page, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 % 251);
  const TempDir dir;
  const MappedFile file(write_file(dir / "a.bin", content));
  EXPECT_EQ(text_of(file.bytes()), content);
  ASSERT_EQ(resident_kilobytes(file.bytes().data()), static_cast<long>(kPages) * page_kilobytes);

  // Half of the first and of the last page stay, and so do these pages.
  file.release_pages(file.bytes().subspan(page / 2, (kPages - 1) * page));
  EXPECT_EQ(resident_kilobytes(file.bytes().data()), 2 * page_kilobytes);
  EXPECT_EQ(text_of(file.bytes()), content);
}

TEST(MappedFile, PartsWithoutAWholePageReleaseNothing) {
  const TempDir dir;
  const MappedFile file(write_file(dir / "a.bin", "short"));
  EXPECT_EQ(text_of(file.bytes()), "short");
  file.release_pages(file.bytes().subspan(1, 2));
  file.release_pages({});
  EXPECT_GT(resident_kilobytes(file.bytes().data()), 0);
}

TEST(MappedFile, ReleasingAnotherFilesPagesIsADefect) {
  const TempDir dir;
  const MappedFile a(write_file(dir / "a.bin", "a"));
  const std::byte other{};
  expect_error(ErrorKind::kInternal, {"a.bin", "outside the file"},
               [&] { a.release_pages({&other, 1}); });
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const TempDir dir;
  const std::string folder = dir.path().string();
  expect_error(ErrorKind::kNotFound, {folder, "none: no such file"},
               [&] { MappedFile(dir / "none"); });
  expect_error(ErrorKind::kIo, {folder, "is a folder; expected a file"},
               [&] { MappedFile(dir.path()); });
  write_file(dir / "empty", "");
  expect_error(ErrorKind::kFormat, {"empty: the file is empty"},
               [&] { MappedFile(dir / "empty"); });
  expect_error(ErrorKind::kNotFound, {"no such file"}, [&] { MappedFile(dir / "empty/below"); });
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  expect_error(ErrorKind::kIo, {"pipe: is a device or a pipe"}, [&] { MappedFile(dir / "pipe"); });
}

TEST(MappedFile, AnUnreadableFileIsRefused) {
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  write_file(dir / "secret", "x");
  ASSERT_EQ(::chmod((dir / "secret").c_str(), 0), 0);
  const AsOrdinaryUser user;
  expect_error(ErrorKind::kIo, {"secret: cannot be opened: Permission denied"},
               [&] { MappedFile(dir / "secret"); });
}

}  // namespace
}  // namespace pantograph
