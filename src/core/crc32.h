// CRC-32 of IEEE 802.3, reflected: the checksum of a zip's entries too (APPNOTE.TXT 4.4.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pantograph {

std::uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace pantograph
