// For a build without PCRE2 and utf8proc, which the tokenizer stands on.
#include "core/check.h"
#include "models/pan2/synthetic.h"

namespace pantograph::pan2 {

void make_checkpoint(const std::filesystem::path& /*folder*/, Size /*size*/,
                     const SyntheticOptions& /*options*/) {
  fail(ErrorKind::kUnsupported,
       "this build has no tokenizer: PCRE2 and utf8proc were not found when it was configured");
}

}  // namespace pantograph::pan2
