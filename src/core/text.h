// Small pieces of messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pantograph {

// With control characters as escapes, \n or \x1b: names from files break no line and move no
// cursor.
inline std::string one_line(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (code < 0x20 || code == 0x7f) {
      line += {'\\', 'x', kDigits[code / 16], kDigits[code % 16]};
    } else {
      line += c;
    }
  }
  return line;
}

// "[48, 2, 3, 5]"
inline std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace pantograph
