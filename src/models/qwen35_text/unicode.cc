#include "models/qwen35_text/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "core/check.h"

namespace pantograph::qwen35_text {
namespace {

const utf8proc_uint8_t* bytes(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

// str.isspace(): bidirectional class white space, or a separator.
bool is_space(char32_t c) {
  const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  return property->category == UTF8PROC_CATEGORY_ZS ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_WS ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_B ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_S;
}

}  // namespace

std::size_t valid_utf8_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    utf8proc_int32_t character;
    const auto length = utf8proc_iterate(
        bytes(text) + at, static_cast<utf8proc_ssize_t>(text.size() - at), &character);
    if (length <= 0) return at;
    at += static_cast<std::size_t>(length);
  }
  return at;
}

std::string nfc(std::string_view text) {
  if (text.empty()) return {};
  utf8proc_uint8_t* mapped = nullptr;
  const auto length =
      utf8proc_map(bytes(text), static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  if (length < 0) {
    fail(ErrorKind::kInvalidArgument, "a text of ", text.size(),
         " bytes cannot be normalised: ", utf8proc_errmsg(length));
  }
  return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length)};
}

std::string_view strip(std::string_view text) {
  std::size_t begin = 0, end = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t before = at;
    if (is_space(next_character(text, at))) continue;
    if (!inside) begin = before;
    inside = true;
    end = at;
  }
  return text.substr(begin, end - begin);
}

std::string utf8(char32_t character) {
  utf8proc_uint8_t encoded[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), encoded);
  return {reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(length)};
}

char32_t next_character(std::string_view text, std::size_t& at) {
  utf8proc_int32_t character;
  const auto length = utf8proc_iterate(bytes(text) + at,
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &character);
  require(length > 0, "not UTF-8 at byte ", at);
  at += static_cast<std::size_t>(length);
  return static_cast<char32_t>(character);
}

}  // namespace pantograph::qwen35_text
