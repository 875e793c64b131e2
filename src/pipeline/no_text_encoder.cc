// Where PCRE2 or utf8proc is missing.
#include <utility>

#include "core/check.h"
#include "pipeline/text_encoder.h"

namespace pantograph {

struct TextEncoder::Impl {};

TextEncoder::TextEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;
TextEncoder& TextEncoder::operator=(TextEncoder&&) noexcept = default;
TextEncoder::~TextEncoder() = default;

TextEncoder TextEncoder::open(const ModelFolder& /*folder*/) {
  fail(ErrorKind::kUnsupported,
       "this build has no text encoder; build it with PCRE2 and utf8proc (libpcre2-dev, "
       "libutf8proc-dev)");
}

// Never reached: there is no object.
std::int64_t TextEncoder::hidden() const {
  return 0;
}
EncodedText TextEncoder::encode(std::string_view /*prompt*/, const ExecutionContext& /*context*/,
                                const CancelToken& /*cancel*/) const {
  return {};
}

}  // namespace pantograph
