#include "pipeline/generate_job.h"

#include <utility>

#include "core/check.h"
#include "core/stopwatch.h"
#include "pipeline/clip_files.h"
#include "pipeline/prompts_file.h"

namespace pantograph {
namespace {

// The beginning of a message about a request that stands in a file.
std::string behind(const std::string& place) {
  return place.empty() ? "" : place + ": ";
}

// What `work` throws, behind the place of the request.
template <typename Work>
auto at_place(const std::string& place, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    fail(error.kind(), behind(place), error.what());
  }
}

std::vector<GenerateRequest> read_requests(const GenerateJob& job) {
  const std::vector<GenerateSettings> all =
      job.prompts.empty() ? std::vector{job.settings} : read_prompts(job.prompts, job.settings);
  std::vector<GenerateRequest> requests;
  for (const GenerateSettings& settings : all) {
    requests.push_back(at_place(settings.place, [&] {
      if (settings.output == "-" && all.size() > 1) {
        fail(ErrorKind::kInvalidArgument, "standard output takes one video; name a file");
      }
      return make_request(settings);
    }));
  }
  return requests;
}

// Neither the checkpoint nor any image is overwritten.
void protect_inputs(const GenerateJob& job, const GenerateRequest& request) {
  std::vector<std::filesystem::path> inputs = {job.model};
  for (const LoraFile& adapter : job.adapters) inputs.push_back(adapter.path);
  if (!job.prompts.empty()) inputs.push_back(job.prompts);
  if (request.has_first_frame()) inputs.push_back(request.image);
  for (const auto& output : {request.output, request.save_latents, request.video.contact_sheet}) {
    if (!output.empty()) refuse_overwriting(output, inputs);
  }
}

struct Opened {
  std::vector<GenerateRequest> requests;
  Pan2Model model;
};

Opened open(const GenerateJob& job) {
  Opened opened{.requests = read_requests(job), .model = open_pan2(job.model, job.adapters)};
  for (const GenerateRequest& request : opened.requests) {
    at_place(request.place, [&] {
      protect_inputs(job, request);
      validate(request, opened.model, job.stages);
    });
  }
  return opened;
}

std::vector<float> sigmas_of(const GenerateRequest& request, const Pan2Model& model) {
  const Schedule schedule(request.schedule, model.scheduler);
  return {schedule.sigmas().begin(), schedule.sigmas().end()};
}

// Tells how far one stage of one video is.
class Reporter {
 public:
  Reporter(const GenerateCallbacks& callbacks, const GenerateProgress& begin)
      : callbacks_(callbacks), progress_(begin) {
    tell(0);
  }
  void tell(double done) {
    progress_.done = done;
    progress_.seconds = seconds();
    if (callbacks_.progress) callbacks_.progress(progress_);
  }
  [[nodiscard]] double seconds() const { return seconds_since(begin_); }

 private:
  const GenerateCallbacks& callbacks_;
  GenerateProgress progress_;
  Clock::time_point begin_ = Clock::now();
};

void add_cut(const char* which, const EncodedText& text, std::vector<std::string>& warnings) {
  if (text.tokens_cut == 0) return;
  warnings.push_back(join("the ", which, " is too long: the first ", text.states.tokens,
                          " tokens are kept, the last ", text.tokens_cut, " were cut"));
}

// What of the texts will not be seen in the video.
std::vector<std::string> warnings_of(const GenerateRequest& request,
                                     const EncodedPrompts& prompts) {
  std::vector<std::string> warnings;
  add_cut("prompt", *prompts.positive, warnings);
  if (prompts.negative) {
    add_cut("negative prompt", *prompts.negative, warnings);
  } else if (!request.negative_prompt.empty()) {
    warnings.push_back(join("the negative prompt is not used: guidance is ", request.guidance,
                            ", and only above 1 it counts"));
  }
  return warnings;
}

class Generation {
 public:
  Generation(const GenerateJob& job, const GenerateCallbacks& callbacks)
      : job_(job), callbacks_(callbacks), opened_(open(job)), prompts_(opened_.requests.size()) {}

  // Every text, and then no tower: each request needs little of what it holds.
  void encode_texts(std::vector<GeneratedVideo>& videos) {
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
      const GenerateRequest& request = opened_.requests[i];
      const Reporter reporter = report(i, Stage::kEncodeText);
      at_place(request.place, [&] {
        prompts_[i] = encode_text(request, *opened_.model.text, job_.stages,
                                  i > 0 ? prompts_[i - 1] : EncodedPrompts());
      });
      for (const std::string& warning : warnings_of(request, prompts_[i])) {
        if (callbacks_.warning) callbacks_.warning(behind(request.place) + warning);
      }
      videos.push_back({.request = request,
                        .tokens = prompts_[i].positive->states.tokens,
                        .tokens_cut = prompts_[i].positive->tokens_cut,
                        .sigmas = sigmas_of(request, opened_.model),
                        .seconds = {.encode_text = reporter.seconds()}});
    }
    opened_.model.text.reset();
  }

  void run(std::size_t i, StageSeconds& seconds) {
    const GenerateRequest& request = opened_.requests[i];
    const Latents latents = make_latents(i, seconds);
    const auto writer = open_video_writer(
        request.output, {request.frames, request.height, request.width}, request.video);
    Reporter reporter = report(i, Stage::kDecode, request.frames);
    const DecodeStatistics statistics =
        decode(latents, opened_.model.vae, *writer, job_.stages, [&](const Progress& progress) {
          reporter.tell(static_cast<double>(progress.frames_done));
        });
    const Clock::time_point finish = Clock::now();
    writer->finish();
    seconds.decode = statistics.prepare_seconds + statistics.decode_seconds;
    seconds.write = statistics.write_seconds + seconds_since(finish);
  }

 private:
  [[nodiscard]] Reporter report(std::size_t video, Stage stage, std::int64_t total = 0) const {
    return {callbacks_,
            {.video = video, .videos = prompts_.size(), .stage = stage, .total = total}};
  }

  Latents make_latents(std::size_t i, StageSeconds& seconds) {
    const GenerateRequest& request = opened_.requests[i];
    std::vector<float> first_frame;
    if (request.has_first_frame()) {
      const Reporter reporter = report(i, Stage::kCondition);
      first_frame = condition(request, opened_.model.vae, job_.stages);
      seconds.condition = reporter.seconds();
    }
    Reporter reporter =
        report(i, Stage::kDenoise, Schedule(request.schedule, opened_.model.scheduler).steps());
    std::int64_t steps_done = 0;
    Latents latents =
        denoise(request, opened_.model, prompts_[i], std::move(first_frame), job_.stages,
                {.on_step = [&](const StepProgress& step) { steps_done = step.steps_done; },
                 .on_block =
                     [&](std::int64_t done, std::int64_t total) {
                       reporter.tell(static_cast<double>(steps_done) +
                                     static_cast<double>(done) / static_cast<double>(total));
                     }});
    prompts_[i] = {};
    seconds.denoise = reporter.seconds();
    if (!request.save_latents.empty()) save_latents(latents, request.save_latents);
    return latents;
  }

  const GenerateJob& job_;
  const GenerateCallbacks& callbacks_;
  Opened opened_;
  std::vector<EncodedPrompts> prompts_;
};

}  // namespace

GenerateSummary run_generate(const GenerateJob& job, const GenerateCallbacks& callbacks) {
  const Clock::time_point begin = Clock::now();
  Generation generation(job, callbacks);
  GenerateSummary summary{.open_seconds = seconds_since(begin)};
  generation.encode_texts(summary.videos);
  for (std::size_t i = 0; i < summary.videos.size(); ++i) {
    GeneratedVideo& video = summary.videos[i];
    at_place(video.request.place, [&] { generation.run(i, video.seconds); });
    if (callbacks.finished) callbacks.finished(video);
  }
  summary.total_seconds = seconds_since(begin);
  return summary;
}

std::vector<PlannedGeneration> plan_generate(const GenerateJob& job) {
  const Opened opened = open(job);
  std::vector<PlannedGeneration> plans;
  for (const GenerateRequest& request : opened.requests) {
    const pan2_dit::LatentSize size =
        latent_size(opened.model, request.frames, request.height, request.width);
    const pan2_dit::Config& dit = opened.model.dit->config();
    plans.push_back({.request = request,
                     .latents = size,
                     .video_tokens = size.frames * size.height * size.width / dit.patch_elements(),
                     .sigmas = sigmas_of(request, opened.model),
                     .decode = opened.model.vae.plan(size.height, size.width,
                                                     {.algorithm = job.stages.algorithm,
                                                      .memory_limit = job.stages.memory_limit,
                                                      .context = job.stages.context})});
  }
  return plans;
}

}  // namespace pantograph
