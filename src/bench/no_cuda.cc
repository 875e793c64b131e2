#include "bench/decode_bench.h"
#include "bench/kernel_bench.h"
#include "core/check.h"

namespace pantograph::bench {

namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::kUnsupported, "the benchmark measures GPUs, and this build has no GPU code");
}

}  // namespace

Json run(const DecodeBench& /*options*/, const std::function<void(const std::string&)>& /*say*/) {
  refuse();
}
Json run(const KernelBench& /*options*/, const std::function<void(const std::string&)>& /*say*/) {
  refuse();
}

}  // namespace pantograph::bench
