#include "core/crc32.h"

#include <array>

namespace pantograph {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;
constexpr std::size_t kSlices = 8;  // bytes taken at once

// kTables[s][b]: what the byte b does to the checksum when s more bytes follow it.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, kSlices> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) * kPolynomial);
    tables[0][byte] = value;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t value = 0xffffffff;
  while (bytes.size() >= kSlices) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      const std::uint32_t mixed = i < 4 ? (value >> (8 * i)) & 0xff : 0;
      next ^= kTables[kSlices - 1 - i][std::to_integer<std::uint32_t>(bytes[i]) ^ mixed];
    }
    value = next;
    bytes = bytes.subspan(kSlices);
  }
  for (const std::byte byte : bytes) {
    value = (value >> 8) ^ kTables[0][(value ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  }
  return ~value;
}

}  // namespace pantograph
