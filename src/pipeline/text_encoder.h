// Prompts to the hidden states that the DiT reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "models/qwen35_text/text_tower.h"
#include "pantograph/execution_context.h"
#include "pipeline/model_folder.h"

namespace pantograph {

struct EncodedText {
  std::string prompt;
  qwen35_text::HiddenStates states;
  std::int64_t tokens_cut = 0;  // beyond what the model takes, from the end
};

// Tokenizer, chat template and text tower. The tower's weights are packed at the first prompt and
// freed with this object.
class TextEncoder {
 public:
  // Throws Error as the three do, kFormat where they do not fit each other, and kUnsupported where
  // the build has no text tower.
  static TextEncoder open(const ModelFolder& folder);
  TextEncoder(TextEncoder&&) noexcept;
  TextEncoder& operator=(TextEncoder&&) noexcept;
  ~TextEncoder();

  [[nodiscard]] std::int64_t hidden() const;  // channels of the states

  // An empty prompt is encoded as a single space. Throws Error: kInvalidArgument (not UTF-8),
  // kUnsupported (a tokenizer without the user's header), kCancelled.
  [[nodiscard]] EncodedText encode(std::string_view prompt, const ExecutionContext& context = {},
                                   const CancelToken& cancel = {}) const;

 private:
  struct Impl;
  explicit TextEncoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pantograph
