#include <cstdio>

#include "commands.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "device/runtime.h"
#include "ops/backends.h"
#include "pantograph/version.h"
#include "pantograph/video_writer.h"

namespace pantograph::cli {

void info() {
  std::printf("pantograph %s\n", kVersion);
  std::printf("backends:\n");
  for (const std::string& backend : ops::backends()) std::printf("  %s\n", backend.c_str());
  std::printf("devices:\n  cpu: %d threads, %s available\n", available_cores(),
              format_bytes(available_memory()).c_str());
  for (const device::Gpu& gpu : device::gpus()) {
    std::printf("  cuda:%d: %s, sm_%d%d, %s, %s free\n", gpu.index, gpu.name.c_str(), gpu.major,
                gpu.minor, format_bytes(gpu.total_bytes).c_str(),
                format_bytes(gpu.free_bytes).c_str());
  }
  std::printf("codecs:\n");
  for (const std::string& codec : video_codecs()) std::printf("  %s\n", codec.c_str());
}

}  // namespace pantograph::cli
