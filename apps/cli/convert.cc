#include <cstdio>

#include "commands.h"
#include "core/memory.h"

namespace pantograph::cli {

void convert(const ConvertJob& job) {
  const ConvertSummary summary = run_convert(job);
  std::printf("%s: %lld tensors, %s, each read back and compared\n", job.output.c_str(),
              static_cast<long long>(summary.tensors),
              format_bytes(static_cast<std::size_t>(summary.bytes)).c_str());
}

}  // namespace pantograph::cli
