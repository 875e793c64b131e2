#include "pipeline/decode_job.h"

#include "core/check.h"
#include "core/log.h"
#include "core/stopwatch.h"
#include "pipeline/clip_files.h"
#include "pipeline/latents_file.h"

namespace pantograph {
namespace {

// One clip and where its video goes.
struct Task {
  TensorView clip;
  DecodedVideo video;
  std::filesystem::path contact_sheet{};  // empty where none is wanted
};

// A job's latents, opened, and what has to be done with them.
struct Work {
  std::vector<LatentsFile> files;  // keep the clips' memory
  std::vector<Task> tasks;
};

Work open_latents(const DecodeJob& job) {
  const std::vector<std::filesystem::path> paths = find_latents(job.latents);
  const std::vector<std::filesystem::path> outputs = name_outputs(job.output, job.latents, paths);
  std::vector<std::filesystem::path> inputs = paths;
  inputs.push_back(job.vae);
  Work work;
  for (std::size_t f = 0; f < paths.size(); ++f) {
    work.files.push_back(LatentsFile::open(paths[f], job.tensor));
    const std::vector<TensorView>& clips = work.files.back().clips();
    if (job.output == "-" && clips.size() > 1) {
      fail(ErrorKind::kInvalidArgument, paths[f].string(), " holds ", clips.size(),
           " videos, and standard output takes one; name a file");
    }
    for (std::size_t i = 0; i < clips.size(); ++i) {
      const auto output = numbered_output(outputs[f], i, clips.size());
      refuse_overwriting(output, inputs);
      work.tasks.push_back({clips[i], {.latents = paths[f], .output = output}});
    }
  }
  if (job.video.contact_sheet.empty()) return work;
  for (std::size_t i = 0; i < work.tasks.size(); ++i) {
    work.tasks[i].contact_sheet = numbered_output(job.video.contact_sheet, i, work.tasks.size());
    refuse_overwriting(work.tasks[i].contact_sheet, inputs);
  }
  return work;
}

DecodePlan plan(const Vae& vae, const TensorView& clip, const DecodeOptions& options) {
  DecodeOptions of_clip = options;
  of_clip.clip_frames = clip.shape[1];
  return vae.plan(clip.shape[2], clip.shape[3], of_clip);
}

// Where and how the job's clips are decoded.
DecodeOptions placed(const DecodeJob& job, const Vae& vae, const Work& work) {
  DecodeOptions options = job.decode;
  if (!job.or_on_cpu || options.context.device.kind == DeviceKind::kCpu) return options;
  try {
    for (const Task& task : work.tasks) plan(vae, task.clip, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOutOfMemory) throw;
    log(LogLevel::kWarning, "decoding on the CPU: ", error.what());
    options.context.device = {};
  }
  return options;
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

DecodeSummary run_decode(const DecodeJob& job, const ProgressCallback& progress,
                         const FinishedCallback& finished) {
  DecodeSummary summary;
  const Clock::time_point begin = Clock::now();
  Work work = open_latents(job);
  const Vae vae = Vae::open(job.vae, job.decode.context);
  const DecodeOptions options = placed(job, vae, work);
  summary.device = options.context.device;
  summary.open_seconds = seconds_since(begin);

  for (auto& [clip, video, contact_sheet] : work.tasks) {
    video.shape = shape_of(clip, vae.config());
    VideoOptions video_options = job.video;
    video_options.contact_sheet = contact_sheet;
    try {
      const auto writer = open_video_writer(video.output, video.shape, video_options);
      video.statistics = vae.decode(clip, *writer, options, progress);
      writer->finish();
    } catch (const Error& error) {
      if (work.files.size() == 1 || error.kind() == ErrorKind::kCancelled) throw;
      throw Error(error.kind(), join(video.latents.string(), ": ", error.what()));
    }
    if (finished) finished(video);
    summary.videos.push_back(video);
  }
  summary.total_seconds = seconds_since(begin);
  return summary;
}

std::vector<PlannedVideo> plan_decode(const DecodeJob& job) {
  const Work work = open_latents(job);
  const Vae vae = Vae::open(job.vae, job.decode.context);
  const DecodeOptions options = placed(job, vae, work);
  std::vector<PlannedVideo> videos;
  for (const auto& [clip, video, contact_sheet] : work.tasks) {
    videos.push_back({video.output, shape_of(clip, vae.config()), plan(vae, clip, options)});
  }
  return videos;
}

}  // namespace pantograph
