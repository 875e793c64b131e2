// Little-endian numbers out of bytes that somebody else wrote, never past their end.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/check.h"

namespace pantograph {

static_assert(std::endian::native == std::endian::little, "numbers in these files are");

class ByteReader {
 public:
  // `what` names the bytes in messages: "x.pth: the central directory".
  ByteReader(std::span<const std::byte> bytes, std::string what)
      : bytes_(bytes), what_(std::move(what)) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - position_; }

  // The next bytes; throws Error(kFormat) where there are not as many.
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > remaining()) {
      fail(ErrorKind::kFormat, what_, ": ends at byte ", bytes_.size(), ", in the middle of ",
           count, " bytes from byte ", position_, " on; the file is truncated or damaged");
    }
    const auto part = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += part.size();
    return part;
  }

  std::string_view text(std::uint64_t count) {
    const auto part = take(count);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

  template <std::integral T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string what_;
  std::size_t position_ = 0;
};

}  // namespace pantograph
