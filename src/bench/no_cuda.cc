#include "bench/decode_bench.h"
#include "core/check.h"

namespace pantograph::bench {

Json run(const DecodeBench& /*options*/, const std::function<void(const std::string&)>& /*say*/) {
  fail(ErrorKind::kUnsupported, "the benchmark measures GPUs, and this build has no GPU code");
}

}  // namespace pantograph::bench
