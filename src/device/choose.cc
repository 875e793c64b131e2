#include "device/choose.h"

#include <charconv>

#include "core/check.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "device/runtime.h"

namespace pantograph::device {
namespace {

constexpr std::string_view kGpuPrefix = "cuda:";

Choice gpu_choice(int index) {
  const Gpu gpu = require_gpu(index);
  return {{.kind = DeviceKind::kCuda, .index = index},
          join("GPU ", index, " (", gpu.name, ", ", format_bytes(gpu.free_bytes), " free)")};
}

// The one with the most free memory of those that are new enough; -1 where there is none.
int best_gpu() {
  int best = -1;
  std::size_t most = 0;
  for (const Gpu& gpu : gpus()) {
    if (gpu.major < 8 || gpu.free_bytes <= most) continue;
    best = gpu.index;
    most = gpu.free_bytes;
  }
  return best;
}

}  // namespace

Choice choose(const std::string& name) {
  Choice cpu{{}, join("the CPU (", available_cores(), " cores)")};
  if (name == "cpu") return cpu;
  if (name == "auto" || name == "cuda") {
    const int index = best_gpu();
    if (index >= 0) return gpu_choice(index);
    if (name == "auto") return cpu;
    fail(ErrorKind::kNotFound,
         "no GPU of compute capability 8.0 or later: ", runtime_description());
  }
  int index = 0;
  const char* end = name.data() + name.size();
  if (name.starts_with(kGpuPrefix)) {
    const auto parsed = std::from_chars(name.data() + kGpuPrefix.size(), end, index);
    if (parsed.ec == std::errc() && parsed.ptr == end && index >= 0) return gpu_choice(index);
  }
  fail(ErrorKind::kInvalidArgument, "'", name,
       "' is no device; expected auto, cpu, cuda or cuda:N");
}

}  // namespace pantograph::device
