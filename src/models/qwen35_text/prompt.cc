#include "models/qwen35_text/prompt.h"

#include <algorithm>

#include "core/check.h"
#include "models/qwen35_text/unicode.h"

namespace pantograph::qwen35_text {
namespace {

constexpr std::string_view kSystem =
    "You are a helpful assistant. Generate the video with the following instructions.";
constexpr std::string_view kUserHeader = "<|im_start|>user\n";

}  // namespace

PromptTokens tokenize_prompt(const Tokenizer& tokenizer, const ChatTemplate& chat,
                             std::string_view prompt) {
  if (const std::size_t valid = valid_utf8_bytes(prompt); valid != prompt.size()) {
    fail(ErrorKind::kInvalidArgument, "the prompt is not valid UTF-8 at byte ", valid);
  }
  PromptTokens tokens{.ids = tokenizer.encode(chat.render(kSystem, prompt))};
  const std::vector<std::int32_t> header = tokenizer.encode(kUserHeader);
  const auto found =
      std::search(tokens.ids.begin(), tokens.ids.end(), header.begin(), header.end());
  if (found == tokens.ids.end()) {
    fail(ErrorKind::kUnsupported,
         "the tokens of the prompt do not contain those of \"<|im_start|>user\" and a line break: "
         "the tokenizer joins them with what follows, or the prompt begins with a line break");
  }
  tokens.user_begin = found - tokens.ids.begin() + static_cast<std::int64_t>(header.size());
  const std::int64_t end = tokens.user_begin + kMostPromptTokens;
  const auto count = static_cast<std::int64_t>(tokens.ids.size());
  if (count > end) {
    tokens.cut = count - end;
    tokens.ids.resize(static_cast<std::size_t>(end));
  }
  return tokens;
}

}  // namespace pantograph::qwen35_text
