#include "checkpoint/zip.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "checkpoint/byte_reader.h"
#include "checkpoint/json.h"
#include "core/check.h"
#include "core/crc32.h"

namespace pantograph {
namespace {

using Bytes = std::span<const std::byte>;

// APPNOTE.TXT of the format, sections 4.3.7, 4.3.12 and 4.3.14 to 4.3.16.
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kLocator64Bytes = 20, kEnd64Bytes = 56;
constexpr std::size_t kMaxCommentBytes = 0xffff;
constexpr std::uint16_t kExtra64 = 1;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the value stands in the 64-bit extra field

struct Directory {
  std::uint64_t entries = 0, bytes = 0, begin = 0;
};

struct Entry {
  std::string name;
  std::uint64_t bytes = 0, stored_bytes = 0, header_begin = 0;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t checksum = 0;
};

class ZipReader {
 public:
  ZipReader(Bytes file, const std::string& where) : file_(file), where_(where) {}

  std::map<std::string, ZipEntry> read() {
    const Directory directory = find_directory();
    ByteReader reader(part(directory.begin, directory.bytes, "the central directory"),
                      where_ + ": the central directory");
    std::map<std::string, ZipEntry> entries;
    std::vector<std::pair<std::size_t, std::size_t>> spans;  // from the header to the data's end
    for (std::uint64_t i = 0; i < directory.entries; ++i) {
      const Entry entry = read_entry(reader);
      if (entry.name.ends_with('/')) continue;
      const Bytes data = locate(entry, directory.begin);
      const auto data_begin = static_cast<std::size_t>(data.data() - file_.data());
      spans.emplace_back(static_cast<std::size_t>(entry.header_begin), data_begin + data.size());
      if (!entries.emplace(entry.name, ZipEntry{data, entry.checksum}).second)
        refuse(entry, "stands twice in the archive");
    }
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i].first < spans[i - 1].second) {
        fail(ErrorKind::kFormat, where_, ": two entries overlap at byte ", spans[i].first);
      }
    }
    return entries;
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(const Entry& entry, Parts&&... parts) const {
    fail(ErrorKind::kFormat, where_, ": the entry ", Json(entry.name).dump(), ' ',
         std::forward<Parts>(parts)...);
  }

  Bytes part(std::uint64_t begin, std::uint64_t bytes, const char* what) const {
    if (begin > file_.size() || bytes > file_.size() - begin) {
      fail(ErrorKind::kFormat, where_, ": ", what, " of ", bytes, " bytes from byte ", begin,
           " on does not lie in the file of ", file_.size(), " bytes");
    }
    return file_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
  }

  // The end record is the last thing in the file but for a comment of its own.
  std::size_t find_end() const {
    for (std::size_t comment = 0;
         comment <= kMaxCommentBytes && comment + kEndBytes <= file_.size(); ++comment) {
      const std::size_t begin = file_.size() - kEndBytes - comment;
      ByteReader reader(file_.subspan(begin), where_);
      if (reader.number<std::uint32_t>() != kEnd) continue;
      reader.take(kEndBytes - sizeof(std::uint32_t) - sizeof(std::uint16_t));
      if (reader.number<std::uint16_t>() == comment) return begin;
    }
    fail(ErrorKind::kFormat, where_,
         ": a zip archive without its central directory; the file is truncated, fetch it again");
  }

  Directory find_directory() const {
    const std::size_t end = find_end();
    if (end >= kLocator64Bytes) {
      ByteReader locator(file_.subspan(end - kLocator64Bytes), where_);
      if (locator.number<std::uint32_t>() == kLocator64) {
        locator.take(sizeof(std::uint32_t));  // the part that holds the record
        return read_directory64(locator.number<std::uint64_t>(), end - kLocator64Bytes);
      }
    }
    ByteReader reader(file_.subspan(end + 4), where_);
    Directory directory;
    const auto part_number = reader.number<std::uint16_t>();
    require_one_part(part_number, reader.number<std::uint16_t>());
    reader.number<std::uint16_t>();  // entries in this part
    directory.entries = reader.number<std::uint16_t>();
    directory.bytes = reader.number<std::uint32_t>();
    directory.begin = reader.number<std::uint32_t>();
    return checked(directory, end);
  }

  Directory read_directory64(std::uint64_t begin, std::size_t limit) const {
    ByteReader reader(part(begin, kEnd64Bytes, "the 64-bit end record"), where_);
    if (reader.number<std::uint32_t>() != kEnd64) {
      fail(ErrorKind::kFormat, where_, ": no 64-bit end record where one should be, at byte ",
           begin);
    }
    reader.take(8 + 2 + 2);  // its size, and versions
    Directory directory;
    const auto part_number = reader.number<std::uint32_t>();
    require_one_part(part_number, reader.number<std::uint32_t>());
    reader.number<std::uint64_t>();  // entries in this part
    directory.entries = reader.number<std::uint64_t>();
    directory.bytes = reader.number<std::uint64_t>();
    directory.begin = reader.number<std::uint64_t>();
    return checked(directory, std::min<std::uint64_t>(begin, limit));
  }

  void require_one_part(std::uint32_t part_number, std::uint32_t directory_part) const {
    if (part_number != 0 || directory_part != 0) {
      fail(ErrorKind::kUnsupported, where_, ": a zip archive in several parts");
    }
  }

  Directory checked(const Directory& directory, std::uint64_t limit) const {
    if (directory.begin > limit || directory.bytes > limit - directory.begin) {
      fail(ErrorKind::kFormat, where_, ": a central directory of ", directory.bytes,
           " bytes from byte ", directory.begin, " on runs into the archive's end record at byte ",
           limit);
    }
    return directory;
  }

  Entry read_entry(ByteReader& reader) const {
    if (reader.number<std::uint32_t>() != kCentralHeader) {
      fail(ErrorKind::kFormat, where_, ": the central directory has fewer entries than it says");
    }
    Entry entry;
    reader.take(2 + 2);  // versions
    entry.flags = reader.number<std::uint16_t>();
    entry.method = reader.number<std::uint16_t>();
    reader.take(2 + 2);  // time, date
    entry.checksum = reader.number<std::uint32_t>();
    entry.stored_bytes = reader.number<std::uint32_t>();
    entry.bytes = reader.number<std::uint32_t>();
    const auto name_bytes = reader.number<std::uint16_t>();
    const auto extra_bytes = reader.number<std::uint16_t>();
    const auto comment_bytes = reader.number<std::uint16_t>();
    reader.take(2 + 2 + 4);  // part, attributes
    entry.header_begin = reader.number<std::uint32_t>();
    entry.name = reader.text(name_bytes);
    read_extra(reader.take(extra_bytes), entry);
    reader.take(comment_bytes);
    return entry;
  }

  // Those of the three numbers that did not fit in 32 bits, in this order.
  void read_extra(Bytes extra, Entry& entry) const {
    ByteReader fields(extra, where_ + ": the extra fields of " + Json(entry.name).dump());
    while (fields.remaining() > 0) {
      const auto id = fields.number<std::uint16_t>();
      ByteReader field(fields.take(fields.number<std::uint16_t>()),
                       where_ + ": the 64-bit field of " + Json(entry.name).dump());
      if (id != kExtra64) continue;
      for (std::uint64_t* number : {&entry.bytes, &entry.stored_bytes, &entry.header_begin}) {
        if (*number == kIn64) *number = field.number<std::uint64_t>();
      }
    }
  }

  Bytes locate(const Entry& entry, std::uint64_t limit) const {
    if ((entry.flags & 1) != 0) {
      fail(ErrorKind::kUnsupported, where_, ": the entry ", Json(entry.name).dump(),
           " is encrypted");
    }
    if (entry.method != 0 || entry.stored_bytes != entry.bytes) {
      fail(ErrorKind::kUnsupported, where_, ": the entry ", Json(entry.name).dump(),
           " is compressed; torch.save stores entries as they are: save the file again with it");
    }
    ByteReader header(part(entry.header_begin, limit - std::min(limit, entry.header_begin),
                           "the part with an entry"),
                      where_ + ": the header of " + Json(entry.name).dump());
    if (header.number<std::uint32_t>() != kLocalHeader) {
      refuse(entry, "has no header at byte ", entry.header_begin);
    }
    header.take(22);  // what the central directory says too
    const auto name_bytes = header.number<std::uint16_t>();
    const auto extra_bytes = header.number<std::uint16_t>();
    if (header.text(name_bytes) != entry.name) refuse(entry, "has another name in its own header");
    header.take(extra_bytes);
    return header.take(entry.bytes);
  }

  Bytes file_;
  const std::string& where_;
};

}  // namespace

bool ZipEntry::intact() const {
  return checksum == 0 || crc32(bytes) == checksum;
}

std::map<std::string, ZipEntry> parse_zip(Bytes file, const std::string& where) {
  return ZipReader(file, where).read();
}

}  // namespace pantograph
