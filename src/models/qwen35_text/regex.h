// Regular expressions with Unicode classes, as tokenizer files write them. PCRE2 is included in
// regex.cc only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pantograph::qwen35_text {

class Regex {
 public:
  // Throws Error(kFormat), which begins with `where`, for a pattern that PCRE2 does not take.
  Regex(std::string_view pattern, const std::string& where);

  // Appends the parts of `text` (valid UTF-8): every match, and what lies between two.
  void split(std::string_view text, std::vector<std::string_view>& parts) const;

 private:
  std::shared_ptr<void> code_;
};

}  // namespace pantograph::qwen35_text
