#include "models/qwen35_text/tokenizer.h"

#include "parsed.h"

using namespace pantograph;               // NOLINT(google-build-using-namespace)
using namespace pantograph::qwen35_text;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const Tokenizer tokenizer(parse_tokenizer(parse_json(fuzz::text_of(data, size), "x"), "x"));
    for (const std::int32_t id : tokenizer.encode("a tree\n\n e\xcc\x81 <|im_end|> 12's")) {
      fuzz::expect(id >= 0 && id < tokenizer.vocabulary());
    }
  });
}
