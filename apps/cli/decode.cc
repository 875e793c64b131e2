#include <cstdio>

#include "checkpoint/json.h"
#include "commands.h"
#include "core/check.h"
#include "core/memory.h"
#include "device/choose.h"
#include "progress_line.h"

namespace pantograph::cli {
namespace {

Json summary_json(const DecodeSummary& summary) {
  const Device& device = summary.device;
  Json::Array videos;
  for (const DecodedVideo& video : summary.videos) {
    const DecodeStatistics& statistics = video.statistics;
    videos.push_back(Json(Json::Object{
        {"latents", Json(video.latents.string())},
        {"output", Json(video.output.string())},
        {"frames", Json(video.shape.frames)},
        {"height", Json(video.shape.height)},
        {"width", Json(video.shape.width)},
        {"latent_frames_per_pass", Json(statistics.frames_per_pass)},
        {"planned_bytes", Json(static_cast<std::int64_t>(statistics.planned_bytes))},
        {"prepare_seconds", Json(statistics.prepare_seconds)},
        {"weight_seconds", Json(statistics.weight_seconds)},
        {"decode_seconds", Json(statistics.decode_seconds)},
        {"write_seconds", Json(statistics.write_seconds)},
    }));
  }
  return Json(Json::Object{
      {"videos", Json(std::move(videos))},
      {"device", Json(device.kind == DeviceKind::kCpu ? "cpu" : join("cuda:", device.index))},
      {"open_seconds", Json(summary.open_seconds)},
      {"total_seconds", Json(summary.total_seconds)},
      {"peak_memory_bytes", Json(static_cast<std::int64_t>(peak_resident_memory()))},
  });
}

// The memory of each clip's decode, without decoding.
void dry_run(const DecodeJob& job) {
  for (const PlannedVideo& video : plan_decode(job)) {
    const DecodePlan& plan = video.plan;
    std::string memory =
        join(format_bytes(plan.bytes), " and ", format_bytes(plan.weight_bytes), " of weights");
    if (plan.library_bytes > 0) {
      memory += join(", ", format_bytes(plan.library_bytes), " for the driver and libraries");
    }
    memory += join(", ", format_bytes(plan.total_bytes()), " in all");
    std::printf("%s: %lld frames of %lld x %lld, %lld latent frames a pass, %s\n",
                video.output.c_str(), static_cast<long long>(video.shape.frames),
                static_cast<long long>(video.shape.width),
                static_cast<long long>(video.shape.height),
                static_cast<long long>(plan.frames_per_pass), memory.c_str());
  }
}

// Where the decode runs and what it may take, as the command line says it.
DecodeJob placed(const DecodeCommand& command) {
  DecodeJob job = command.job;
  const device::Choice choice = device::choose(command.device);
  // A CPU is what is left where there is no GPU: nothing was chosen.
  if (command.device == "auto" && choice.device.kind != DeviceKind::kCpu) {
    std::fprintf(stderr, "decoding on %s\n", choice.description.c_str());
  }
  job.decode.context.device = choice.device;
  job.or_on_cpu = command.device == "auto" && job.decode.algorithm != Algorithm::kFast;
  job.decode.memory_limit = static_cast<std::size_t>(command.max_memory_gib * 0x1p30);
  return job;
}

void print_video(const DecodedVideo& video, bool piped) {
  std::FILE* const stream = piped ? stderr : stdout;
  const DecodeStatistics& statistics = video.statistics;
  std::fprintf(
      stream, "%s: %lld frames of %lld x %lld in %.2f s, after %.2f s of preparation\n",
      piped ? "standard output" : video.output.c_str(), static_cast<long long>(video.shape.frames),
      static_cast<long long>(video.shape.width), static_cast<long long>(video.shape.height),
      statistics.decode_seconds + statistics.write_seconds, statistics.prepare_seconds);
  std::fflush(stream);  // before the next one's progress, or its error
}

}  // namespace

void decode(const DecodeCommand& command) {
  const bool piped = command.job.output == "-";
  if (piped && command.json) {
    fail(ErrorKind::kInvalidArgument,
         "--json and -o - both want standard output; write the video to a file");
  }
  const DecodeJob job = placed(command);
  if (command.dry_run) return dry_run(job);
  ProgressLine line;
  const DecodeSummary summary = run_decode(
      job, [&](const Progress& progress) { line.update(progress); },
      [&](const DecodedVideo& video) {
        line.end();
        if (!command.json) print_video(video, piped);
      });
  if (command.json) std::printf("%s\n", summary_json(summary).dump().c_str());
}

}  // namespace pantograph::cli
