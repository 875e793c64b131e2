#include <cstdio>

#include "commands.h"
#include "core/memory.h"
#include "core/parallel.h"
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
  std::printf("codecs:\n");
  for (const std::string& codec : video_codecs()) std::printf("  %s\n", codec.c_str());
}

}  // namespace pantograph::cli
