// The zip archives that torch.save writes: entries stored, not compressed, so that each is a part
// of the mapped file.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace pantograph {

// An archive's entries by name, folders left out. Proves that every entry lies inside the file in
// front of the central directory, that no two overlap and that no name stands twice. Checksums are
// not compared: that would read gigabytes of weights before the first is needed.
// Throws Error: kFormat; kUnsupported for compressed or encrypted entries and archives in parts.
std::map<std::string, std::span<const std::byte>> parse_zip(std::span<const std::byte> file,
                                                            const std::string& where);

}  // namespace pantograph
