#include "models/qwen35_text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/check.h"

namespace pantograph::qwen35_text {
namespace {

std::string error_text(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

// Tokenizer files mean Oniguruma's white space. PCRE2's \s has U+180E besides, a space no longer.
std::string with_oniguruma_space(std::string_view pattern) {
  constexpr std::string_view kSpace = R"(\x{9}-\x{d}\x{85}\p{Z})";
  std::string result;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's' && in_class) {
        result += kSpace;
      } else if (escaped == 's') {
        result += join('[', kSpace, ']');
      } else if (escaped == 'S' && !in_class) {
        result += join("[^", kSpace, ']');
      } else {
        result += {c, escaped};
      }
      continue;
    }
    in_class = c == '[' || (in_class && c != ']');
    result += c;
  }
  return result;
}

}  // namespace

Regex::Regex(std::string_view pattern, const std::string& where) {
  const std::string translated = with_oniguruma_space(pattern);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (code == nullptr) {
    fail(ErrorKind::kFormat, where, ": the regular expression is not valid at character ", at, ": ",
         error_text(error));
  }
  code_ =
      std::shared_ptr<void>(code, [](void* c) { pcre2_code_free(static_cast<pcre2_code*>(c)); });
}

void Regex::split(std::string_view text, std::vector<std::string_view>& parts) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
  if (!match) fail(ErrorKind::kOutOfMemory, "no memory to split a text");
  std::size_t done = 0, from = 0;
  while (from < text.size()) {
    const int count = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                  from, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      fail(ErrorKind::kUnsupported, "the tokenizer's regular expression gave up on a text of ",
           text.size(), " bytes: ", error_text(count));
    }
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
    const std::size_t begin = ends[0], end = ends[1];
    // \K in a lookahead could report a match that ends before it begins.
    if (begin < from || end < begin) {
      fail(ErrorKind::kUnsupported, "the tokenizer's regular expression matches backwards");
    }
    if (begin > done) parts.push_back(text.substr(done, begin - done));
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    done = end;
    from = end;
    if (end == begin) {  // an empty match: go on after the next character
      do {
        ++from;
      } while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80);
    }
  }
  if (done < text.size()) parts.push_back(text.substr(done));
}

}  // namespace pantograph::qwen35_text
