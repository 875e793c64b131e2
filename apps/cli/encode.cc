#include <cstdio>

#include "checkpoint/json.h"
#include "commands.h"
#include "core/memory.h"
#include "progress_line.h"

namespace pantograph::cli {

void encode(const EncodeCommand& command) {
  EncodeSummary summary;
  {
    ProgressLine line;
    summary = run_encode(command.job, [&](const Progress& progress) { line.update(progress); });
  }
  if (command.json) {
    const Json json(Json::Object{
        {"output", Json(command.job.output.string())},
        {"frames", Json(summary.frames)},
        {"height", Json(summary.height)},
        {"width", Json(summary.width)},
        {"latent_frames", Json(summary.latent_frames)},
        {"latent_height", Json(summary.latent_height)},
        {"latent_width", Json(summary.latent_width)},
        {"total_seconds", Json(summary.seconds)},
        {"peak_memory_bytes", Json(static_cast<std::int64_t>(peak_resident_memory()))},
    });
    std::printf("%s\n", json.dump().c_str());
    return;
  }
  std::printf("%s: %lld frames of %lld x %lld as %lld latent frames of %lld x %lld in %.1f s\n",
              command.job.output.c_str(), static_cast<long long>(summary.frames),
              static_cast<long long>(summary.width), static_cast<long long>(summary.height),
              static_cast<long long>(summary.latent_frames),
              static_cast<long long>(summary.latent_width),
              static_cast<long long>(summary.latent_height), summary.seconds);
}

}  // namespace pantograph::cli
