// UTF-8 and normalisation. utf8proc is included in unicode.cc only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pantograph::qwen35_text {

// The first byte that is not part of valid UTF-8, or the size where all is.
std::size_t valid_utf8_bytes(std::string_view text);

// Canonical composition; `text` is valid UTF-8.
std::string nfc(std::string_view text);

// Without Unicode white space at both ends, as Python's str.strip().
std::string_view strip(std::string_view text);

std::string utf8(char32_t character);

// The character that begins at `at`, which moves behind it. `text` is valid UTF-8.
char32_t next_character(std::string_view text, std::size_t& at);

}  // namespace pantograph::qwen35_text
