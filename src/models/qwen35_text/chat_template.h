// The chat template of a Qwen checkpoint, recognised rather than run: there is no Jinja here. What
// may differ between Qwen's templates, and changes tokens, is read from the file: whether a
// message's content is stripped, and what the generation prompt adds ("<think>\n", an empty
// thought, nothing).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace pantograph::qwen35_text {

class ChatTemplate {
 public:
  // chat_template.jinja or, without it, "chat_template" of tokenizer_config.json. Throws Error:
  // kNotFound where neither is there, kUnsupported for a template of another structure.
  static ChatTemplate open(const std::filesystem::path& folder);
  ChatTemplate(std::string_view jinja, const std::string& where);

  // A system and a user message and the beginning of the answer, as transformers'
  // apply_chat_template(add_generation_prompt=True) renders them.
  [[nodiscard]] std::string render(std::string_view system, std::string_view user) const;

 private:
  bool strips_content_ = false;
  std::string generation_prompt_;  // "<|im_start|>assistant\n" and what follows
};

}  // namespace pantograph::qwen35_text
