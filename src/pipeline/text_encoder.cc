#include "pipeline/text_encoder.h"

#include <utility>

#include "core/check.h"
#include "core/parallel.h"
#include "models/qwen35_text/config.h"
#include "models/qwen35_text/prompt.h"

namespace pantograph {

struct TextEncoder::Impl {
  qwen35_text::Tokenizer tokenizer;
  qwen35_text::ChatTemplate chat;
  qwen35_text::TextTower tower;
};

TextEncoder::TextEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;
TextEncoder& TextEncoder::operator=(TextEncoder&&) noexcept = default;
TextEncoder::~TextEncoder() = default;

TextEncoder TextEncoder::open(const ModelFolder& folder) {
  auto impl =
      std::unique_ptr<Impl>(new Impl{.tokenizer = qwen35_text::Tokenizer::open(folder.tokenizer),
                                     .chat = qwen35_text::ChatTemplate::open(folder.tokenizer),
                                     .tower = qwen35_text::TextTower::open(folder.text_encoder)});
  const std::int64_t known = impl->tower.config().vocabulary;
  if (impl->tokenizer.vocabulary() > known) {
    fail(ErrorKind::kFormat, folder.tokenizer.string(), " has ", impl->tokenizer.vocabulary(),
         " tokens, ", folder.text_encoder.string(), " knows ", known,
         ": they belong to different models");
  }
  // A tokenizer that no prompt would get through is refused here, not after a long load.
  (void)tokenize_prompt(impl->tokenizer, impl->chat, " ");
  return TextEncoder(std::move(impl));
}

std::int64_t TextEncoder::hidden() const {
  return impl_->tower.config().hidden;
}

EncodedText TextEncoder::encode(std::string_view prompt, const ExecutionContext& context,
                                const CancelToken& cancel) const {
  const qwen35_text::PromptTokens tokens =
      tokenize_prompt(impl_->tokenizer, impl_->chat, prompt.empty() ? " " : prompt);
  const ThreadLimit threads(context.threads);
  return {.prompt = std::string(prompt),
          .states = impl_->tower.encode(tokens.ids, tokens.user_begin, &cancel),
          .tokens_cut = tokens.cut};
}

}  // namespace pantograph
