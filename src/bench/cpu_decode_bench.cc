#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "bench/decode_bench.h"
#include "bench/file_times.h"
#include "bench/pushes.h"
#include "bench/seconds.h"
#include "bench/workload.h"
#include "core/check.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/stopwatch.h"
#include "models/wan_vae/session.h"
#include "models/wan_vae/synthetic.h"
#include "ops/backends.h"

namespace pantograph::bench {
namespace {

// A whole video in memory that is the caller's.
class HostVideo final : public FrameSink {
 public:
  explicit HostVideo(std::size_t elements) : values_(elements) {}

  void write(const TensorView& frames) override {
    std::memcpy(values_.data() + written_, frames.data, frames.bytes());
    written_ += static_cast<std::size_t>(frames.elements());
  }
  void poison() {
    written_ = 0;
    std::fill(values_.begin(), values_.end(), std::numeric_limits<float>::quiet_NaN());
  }
  [[nodiscard]] const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
  std::size_t written_ = 0;
};

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

class CpuBench {
 public:
  CpuBench(const DecodeBench& options, const std::function<void(const std::string&)>& say)
      : options_(options), say_(say), config_(wan_vae::released_config()) {}

  Json run() {
    std::vector<Workload> workloads;
    for (const std::string& name : options_.workloads) {
      workloads.push_back(parse_workload(name, config_));
    }
    const wan_vae::MemoryCheckpoint made = wan_vae::make_memory_checkpoint(config_, 0);
    decoder_ = std::make_shared<const wan_vae::Decoder>(config_, made.checkpoint);
    Json::Array results;
    for (const Workload& workload : workloads) results.push_back(Json(measure(workload)));
    const int threads = options_.threads > 0 ? options_.threads : available_cores();
    return Json(Json::Object{{"cpu", Json(processor())},
                             {"threads", Json(std::int64_t{threads})},
                             {"backend", Json(ops::backends().front())},
                             {"workloads", Json(std::move(results))}});
  }

 private:
  // A whole decode with everything a caller waits for but the weights: session, passes, frames.
  // One latent frame a pass is how a stream is decoded, so then the clip comes as one.
  double decode(const Workload& workload, const TensorView& latents, FrameSink& sink) {
    const Clock::time_point begin = Clock::now();
    wan_vae::Session session(decoder_, config_, workload.height, workload.width,
                             {.algorithm = options_.algorithm,
                              .frames_per_pass = options_.frames_per_pass,
                              .memory_limit = options_.memory_limit,
                              .context = {.threads = options_.threads}});
    if (options_.frames_per_pass == 1) {
      push_singly(session, latents, sink, [] {}, pushes_);
    } else {
      session.push(latents, sink);
    }
    frames_per_pass_ = session.frames_per_pass();
    planned_ = session.planned_bytes();
    return seconds_since(begin);
  }

  Json::Object measure(const Workload& workload) {
    const VideoShape shape = video_shape(workload, config_);
    std::vector<std::uint16_t> values =
        wan_vae::make_memory_latents(workload.latent_frames, workload.height, workload.width, 0);
    const TensorView latents = TensorView::dense(
        values.data(), DType::kBF16,
        {config_.latent_channels, workload.latent_frames, workload.height, workload.width});

    HostVideo video(static_cast<std::size_t>(3 * shape.frames * shape.height * shape.width));
    video.poison();
    const double first_seconds = decode(workload, latents, video);
    const std::vector<float> first = video.values();
    if (!std::all_of(first.begin(), first.end(), [](float v) { return std::abs(v) <= 1; })) {
      fail(ErrorKind::kInternal, workload.name, ": a value is not finite or beyond [-1, 1]");
    }
    Json::Object result = {
        {"name", Json(workload.name)},
        {"frames", Json(shape.frames)},
        {"height", Json(shape.height)},
        {"width", Json(shape.width)},
        {"latent_frames_per_pass", Json(frames_per_pass_)},
        {"direct_tflop",
         Json(decode_flops(config_, workload.latent_frames, workload.height, workload.width) *
              1e-12)},
        {"first_seconds", Json(first_seconds)},
        {"planned_session_bytes", Json(static_cast<std::int64_t>(planned_))},
    };
    std::string line = join(workload.name, ": first ", first_seconds, " s");
    std::vector<double> times;
    pushes_ = {};
    for (int i = 0; i < options_.runs; ++i) {
      video.poison();
      times.push_back(decode(workload, latents, video));
      if (video.values() != first) {
        fail(ErrorKind::kInternal, workload.name, ": run ", i + 1, " differs from the first");
      }
    }
    if (!times.empty()) {
      const Spread spread = spread_of(times);
      add_seconds(result, "seconds", times);
      line += ", " + describe(spread);
      add_pushes(pushes_, result, line);
      if (!options_.output.empty()) {
        add_file(time_file(options_.output, shape, options_.runs,
                           [&](FrameSink& sink) { decode(workload, latents, sink); }),
                 spread.median, result, line);
      }
    }
    say_(line);
    return result;
  }

  const DecodeBench& options_;
  const std::function<void(const std::string&)>& say_;
  VaeConfig config_;
  std::shared_ptr<const wan_vae::Decoder> decoder_;
  std::int64_t frames_per_pass_ = 0;
  std::size_t planned_ = 0;
  PushTimes pushes_;  // of all sessions since it was emptied
};

}  // namespace

Json run_on_cpu(const DecodeBench& options, const std::function<void(const std::string&)>& say) {
  if (options.check || options.kernels) {
    fail(ErrorKind::kInvalidArgument,
         "--check and --kernels are for a GPU: a CPU decodes in f32, with which a GPU is compared");
  }
  return CpuBench(options, say).run();
}

}  // namespace pantograph::bench
