#include <charconv>
#include <cstdio>

#include "checkpoint/json.h"
#include "commands.h"
#include "core/check.h"
#include "core/memory.h"
#include "device/choose.h"
#include "progress_line.h"

namespace pantograph::cli {
namespace {

// FILE or FILE:SCALE; a colon that no number follows is part of the name.
LoraFile parse_adapter(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string::npos) return {.path = word};
  LoraFile adapter{.path = word.substr(0, colon)};
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data() + colon + 1, end, adapter.scale);
  if (error != std::errc() || rest != end) return {.path = word};
  return adapter;
}

// What may be taken and where, as the command line says it.
GenerateJob placed(const GenerateCommand& command) {
  GenerateJob job = command.job;
  for (const std::string& word : command.adapters) job.adapters.push_back(parse_adapter(word));
  // The DiT runs on a CPU only, so that is what "auto" means here.
  if (command.device != "auto") {
    job.stages.context.device = device::choose(command.device).device;
  }
  job.stages.memory_limit = static_cast<std::size_t>(command.max_memory_gib * 0x1p30);
  return job;
}

Json sigmas_json(const std::vector<float>& sigmas) {
  Json::Array list;
  for (const float sigma : sigmas) list.emplace_back(static_cast<double>(sigma));
  return Json(std::move(list));
}

Json video_json(const GeneratedVideo& video) {
  const GenerateRequest& request = video.request;
  const StageSeconds& seconds = video.seconds;
  return Json(Json::Object{
      {"output", Json(request.output.string())},
      {"preset", Json(std::string(request.preset))},
      {"prompt", Json(request.prompt)},
      {"negative_prompt", Json(request.negative_prompt)},
      {"image", Json(request.image.string())},
      {"prompt_tokens", Json(video.tokens)},
      {"prompt_tokens_cut", Json(video.tokens_cut)},
      {"frames", Json(request.frames)},
      {"height", Json(request.height)},
      {"width", Json(request.width)},
      {"sigmas", sigmas_json(video.sigmas)},
      {"guidance", Json(request.guidance)},
      {"seed", Json(request.seed)},
      {"encode_text_seconds", Json(seconds.encode_text)},
      {"condition_seconds", Json(seconds.condition)},
      {"denoise_seconds", Json(seconds.denoise)},
      {"decode_seconds", Json(seconds.decode)},
      {"write_seconds", Json(seconds.write)},
  });
}

Json summary_json(const GenerateSummary& summary) {
  Json::Array videos;
  for (const GeneratedVideo& video : summary.videos) videos.push_back(video_json(video));
  return Json(Json::Object{
      {"videos", Json(std::move(videos))},
      {"device", Json(std::string("cpu"))},
      {"open_seconds", Json(summary.open_seconds)},
      {"total_seconds", Json(summary.total_seconds)},
      {"peak_memory_bytes", Json(static_cast<std::int64_t>(peak_resident_memory()))},
  });
}

// "denoising 12.3 s"
std::string stage_text(const char* stage, double seconds) {
  char text[48];
  std::snprintf(text, sizeof(text), "%s %.1f s", stage, seconds);
  return text;
}

void print_video(const GeneratedVideo& video) {
  const GenerateRequest& request = video.request;
  const StageSeconds& seconds = video.seconds;
  const bool piped = request.output == "-";
  std::FILE* const stream = piped ? stderr : stdout;
  const std::string text =
      join(piped ? "standard output" : request.output.string(), ": ", request.frames, " frames of ",
           request.width, " x ", request.height, ", seed ", request.seed, "; ",
           stage_text("text", seconds.encode_text), ", ",
           request.has_first_frame() ? stage_text("first frame", seconds.condition) + ", " : "",
           stage_text("denoising", seconds.denoise), ", ", stage_text("decoding", seconds.decode),
           ", ", stage_text("writing", seconds.write));
  std::fprintf(stream, "%s\n", text.c_str());
  std::fflush(stream);  // before the next one's progress, or its error
}

void dry_run(const GenerateJob& job) {
  for (const PlannedGeneration& plan : plan_generate(job)) {
    const GenerateRequest& request = plan.request;
    std::printf(
        "%s: %lld frames of %lld x %lld, %lld video tokens, %zu steps with guidance %g, %s to "
        "decode\n",
        request.output.c_str(), static_cast<long long>(request.frames),
        static_cast<long long>(request.width), static_cast<long long>(request.height),
        static_cast<long long>(plan.video_tokens), plan.sigmas.size() - 1, request.guidance,
        format_bytes(plan.decode.total_bytes()).c_str());
  }
}

}  // namespace

void generate(const GenerateCommand& command) {
  if (command.json && command.job.settings.output == "-") {
    fail(ErrorKind::kInvalidArgument,
         "--json and -o - both want standard output; write the video to a file");
  }
  const GenerateJob job = placed(command);
  if (command.dry_run) return dry_run(job);
  ProgressLine line;
  GenerateCallbacks callbacks;
  callbacks.progress = [&](const GenerateProgress& progress) { line.update(progress); };
  callbacks.warning = [&](const std::string& message) {
    line.end();
    std::fprintf(stderr, "pantograph: warning: %s\n", message.c_str());
  };
  callbacks.finished = [&](const GeneratedVideo& video) {
    line.end();
    if (!command.json) print_video(video);
  };
  const GenerateSummary summary = run_generate(job, callbacks);
  if (command.json) std::printf("%s\n", summary_json(summary).dump().c_str());
}

}  // namespace pantograph::cli
