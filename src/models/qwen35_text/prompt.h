// A video's prompt as the tokens that PAN 2's text tower sees.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/qwen35_text/chat_template.h"
#include "models/qwen35_text/tokenizer.h"

namespace pantograph::qwen35_text {

// Tokens after the header "<|im_start|>user\n" that the model was trained with at most.
inline constexpr std::int64_t kMostPromptTokens = 1536;

struct PromptTokens {
  std::vector<std::int32_t> ids;
  std::int64_t user_begin = 0;  // the first token after the user's header: hidden states from here
  std::int64_t cut = 0;         // tokens dropped at the end
};

// The system message, the prompt and the beginning of an answer. Throws Error: kInvalidArgument for
// a prompt that is not UTF-8, kUnsupported where the user's header is not among the tokens.
PromptTokens tokenize_prompt(const Tokenizer& tokenizer, const ChatTemplate& chat,
                             std::string_view prompt);

}  // namespace pantograph::qwen35_text
