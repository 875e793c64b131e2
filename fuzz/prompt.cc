// Any bytes as a text for a tokenizer in Qwen3.5's layout, and as a chat template.
#include "models/qwen35_text/chat_template.h"
#include "models/qwen35_text/synthetic_tokenizer.h"
#include "models/qwen35_text/tokenizer.h"
#include "parsed.h"

using namespace pantograph;               // NOLINT(google-build-using-namespace)
using namespace pantograph::qwen35_text;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokenizer tokenizer(parse_tokenizer(synthetic_tokenizer_json(), "x"));
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::parsed([&] { static_cast<void>(tokenizer.encode(text)); });
  return fuzz::parsed([&] {
    const std::string chat = ChatTemplate(text, "x").render("system", "user");
    fuzz::expect(chat.find("<|im_start|>user\nuser<|im_end|>\n") != std::string::npos);
  });
}
