#include "pipeline/decode_job.h"

#include <chrono>
#include <system_error>

#include "core/check.h"
#include "pipeline/latents_file.h"

namespace pantograph {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void refuse_overwriting(const DecodeJob& job, const std::filesystem::path& output) {
  std::error_code ignored;
  for (const auto& input : {job.latents, job.vae}) {
    if (std::filesystem::equivalent(output, input, ignored)) {
      fail(ErrorKind::kInvalidArgument, output.string(),
           " is an input of this decode; choose another output");
    }
  }
}

VideoShape shape_of(const TensorView& clip, const VaeConfig& config) {
  return {.frames = config.video_frames(clip.shape[1]),
          .height = clip.shape[2] * config.spatial_factor(),
          .width = clip.shape[3] * config.spatial_factor()};
}

}  // namespace

std::filesystem::path numbered_output(const std::filesystem::path& output, std::size_t index,
                                      std::size_t count) {
  if (count == 1) return output;
  std::filesystem::path name = output.stem();
  name += "_" + std::to_string(index);
  name += output.extension();
  return output.parent_path() / name;
}

DecodeSummary run_decode(const DecodeJob& job, const ProgressCallback& progress) {
  DecodeSummary summary;
  const Clock::time_point begin = Clock::now();
  const LatentsFile latents = LatentsFile::open(job.latents, job.tensor);
  const std::size_t count = latents.clips().size();
  if (job.output == "-" && count > 1) {
    fail(ErrorKind::kInvalidArgument, job.latents.string(), " holds ", count,
         " videos, and standard output takes one; name a file");
  }
  const Vae vae = Vae::open(job.vae, job.decode.context);
  summary.open_seconds = seconds_since(begin);

  for (std::size_t i = 0; i < count; ++i) {
    summary.videos.push_back({.output = numbered_output(job.output, i, count)});
    refuse_overwriting(job, summary.videos.back().output);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const TensorView& clip = latents.clips()[i];
    DecodedVideo& video = summary.videos[i];
    video.shape = shape_of(clip, vae.config());
    const auto writer = open_video_writer(video.output, video.shape, job.video);
    video.statistics = vae.decode(clip, *writer, job.decode, progress);
    writer->finish();
  }
  summary.total_seconds = seconds_since(begin);
  return summary;
}

std::vector<PlannedVideo> plan_decode(const DecodeJob& job) {
  const LatentsFile latents = LatentsFile::open(job.latents, job.tensor);
  const Vae vae = Vae::open(job.vae, job.decode.context);
  const std::size_t count = latents.clips().size();
  std::vector<PlannedVideo> videos;
  for (std::size_t i = 0; i < count; ++i) {
    const TensorView& clip = latents.clips()[i];
    videos.push_back({numbered_output(job.output, i, count), shape_of(clip, vae.config()),
                      vae.plan(clip.shape[2], clip.shape[3], job.decode)});
  }
  return videos;
}

}  // namespace pantograph
