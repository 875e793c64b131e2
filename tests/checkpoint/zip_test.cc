#include "checkpoint/zip.h"

#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"
#include "support/fixture.h"

namespace pantograph {
namespace {

using test::as_bytes;
using test::expect_error;

// Little-endian; zeros beyond the value's eight bytes.
std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value);
  return text;
}

// Builds archives, right ones and wrong ones, after APPNOTE.TXT.
struct Archive {
  std::string files, directory;
  int count = 0;
  std::string comment;

  Archive& add(const std::string& name, const std::string& data, int method = 0, int flags = 0) {
    const std::uint64_t begin = files.size();
    files += number(0x04034b50, 4) + number(0, 22) + number(name.size(), 2) + number(3, 2) + name +
             "abc" + data;
    add_to_directory(name, data.size(), data.size(), begin, "", method, flags);
    return *this;
  }
  void add_to_directory(const std::string& name, std::uint64_t stored, std::uint64_t bytes,
                        std::uint64_t begin, const std::string& extra = "", int method = 0,
                        int flags = 0) {
    directory += number(0x02014b50, 4) + number(0, 4) + number(flags, 2) + number(method, 2) +
                 number(0, 8) + number(stored, 4) + number(bytes, 4) + number(name.size(), 2) +
                 number(extra.size(), 2) + number(1, 2) + number(0, 8) + number(begin, 4) + name +
                 extra + "#";
    ++count;
  }
  std::string end(std::uint64_t entries, std::uint64_t bytes, std::uint64_t begin) const {
    return number(0x06054b50, 4) + number(0, 4) + number(entries, 2) + number(entries, 2) +
           number(bytes, 4) + number(begin, 4) + number(comment.size(), 2) + comment;
  }
  std::string bytes() const {
    return files + directory + end(count, directory.size(), files.size());
  }
  std::string bytes64() const {
    const std::string end64 = number(0x06064b50, 4) + number(44, 8) + number(0, 4) + number(0, 8) +
                              number(count, 8) + number(count, 8) + number(directory.size(), 8) +
                              number(files.size(), 8);
    const std::string locator = number(0x07064b50, 4) + number(0, 4) +
                                number(files.size() + directory.size(), 8) + number(1, 4);
    return files + directory + end64 + locator + end(0xffff, 0xffffffff, 0xffffffff);
  }
};

std::map<std::string, std::string> read(const std::string& file) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, entry] : parse_zip(as_bytes(file), "x.zip")) {
    texts.emplace(
        name, std::string(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()));
  }
  return texts;
}
void refused(const std::string& file, std::string_view says, ErrorKind kind = ErrorKind::kFormat) {
  expect_error(kind, {"x.zip: ", says}, [&] { parse_zip(as_bytes(file), "x.zip"); });
}

const std::map<std::string, std::string> kTwo{{"a/b", "hello"}, {"c", ""}};

TEST(Zip, Entries) {
  Archive archive = Archive().add("a/b", "hello").add("c", "").add("folder/", "");
  EXPECT_EQ(read(archive.bytes()), kTwo);
  archive.comment = "a comment";
  EXPECT_EQ(read(archive.bytes()), kTwo);
  EXPECT_EQ(read(Archive().bytes()).size(), 0U);
}

TEST(Zip, Archives64) {
  Archive archive = Archive().add("a/b", "hello").add("c", "");
  EXPECT_EQ(read(archive.bytes64()), kTwo);
  archive.directory.clear();
  archive.count = 0;
  archive.add_to_directory("a/b", 0xffffffff, 0xffffffff, 0xffffffff,
                           number(7, 2) + number(1, 2) + "?" + number(1, 2) + number(24, 2) +
                               number(5, 8) + number(5, 8) + number(0, 8));
  EXPECT_EQ(read(archive.bytes64()).at("a/b"), "hello");
}

TEST(Zip, Checksums) {
  EXPECT_TRUE((ZipEntry{as_bytes("123456789"), 0xcbf43926}).intact());
  EXPECT_FALSE((ZipEntry{as_bytes("123456780"), 0xcbf43926}).intact());
  EXPECT_TRUE((ZipEntry{as_bytes("123456789"), 0}).intact());  // has none
}

TEST(Zip, EntriesThatAreNotStored) {
  refused(Archive().add("a", "x", 8).bytes(), "\"a\" is compressed", ErrorKind::kUnsupported);
  refused(Archive().add("a", "x", 0, 1).bytes(), "\"a\" is encrypted", ErrorKind::kUnsupported);
}

TEST(Zip, EntriesThatDoNotLieWhereTheySay) {
  const auto with = [](std::uint64_t bytes, std::uint64_t begin, const std::string& name = "a") {
    Archive archive = Archive().add("a", "x");
    archive.directory.clear();
    archive.count = 0;
    archive.add_to_directory(name, bytes, bytes, begin);
    return archive.bytes();
  };
  EXPECT_EQ(read(with(1, 0)).at("a"), "x");
  refused(with(2, 0), "truncated or damaged");
  refused(with(0xfffffffe, 0), "truncated or damaged");
  refused(with(1, 1), "\"a\" has no header at byte 1");
  refused(with(1, 1000), "does not lie in the file");
  refused(with(1, 0, "b"), "\"b\" has another name in its own header");
}

TEST(Zip, EntriesThatShareBytes) {
  Archive twice = Archive().add("a", "x");
  twice.add_to_directory("a", 1, 1, 0);
  refused(twice.bytes(), "\"a\" stands twice");
  // The header of "b" lies in the data of "a".
  const std::string inner = Archive().add("b", "y").files;
  Archive nested = Archive().add("a", inner);
  nested.add_to_directory("b", 1, 1, nested.files.size() - inner.size());
  refused(nested.bytes(), "two entries overlap");
}

TEST(Zip, Directories) {
  const Archive archive = Archive().add("a", "x");
  const auto size = archive.directory.size(), begin = archive.files.size();
  const std::string all = archive.files + archive.directory;
  refused("", "without its central directory; the file is truncated");
  refused(all, "without its central directory");
  refused(all + archive.end(2, size, begin), "truncated or damaged");
  refused(all + archive.end(1, size - 1, begin), "truncated or damaged");
  refused(all + archive.end(1, size, begin + 1), "runs into the archive's end record");
  refused(all + archive.end(1, size, begin - 1), "fewer entries than it says");
  refused(all + archive.end(1, 0xfffffff0, begin), "runs into the archive's end record");
}

}  // namespace
}  // namespace pantograph
