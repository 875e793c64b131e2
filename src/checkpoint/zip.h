// The zip archives that torch.save writes: entries stored, not compressed, so that each is a part
// of the mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace pantograph {

struct ZipEntry {
  std::span<const std::byte> bytes;
  std::uint32_t checksum = 0;  // CRC-32; 0 where the writer left it out, as torch may be told to

  // Reads all of the entry.
  [[nodiscard]] bool intact() const;
};

// An archive's entries by name, folders left out. Proves that every entry lies inside the file in
// front of the central directory, that no two overlap and that no name stands twice.
// Throws Error: kFormat; kUnsupported for compressed or encrypted entries and archives in parts.
std::map<std::string, ZipEntry> parse_zip(std::span<const std::byte> file,
                                          const std::string& where);

}  // namespace pantograph
