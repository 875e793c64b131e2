#include "bench/decode_bench.h"

#include <cuda_runtime_api.h>

#include <cmath>

#include "bench/device_video.h"
#include "bench/file_times.h"
#include "bench/gpu_monitor.h"
#include "bench/kernel_table.h"
#include "bench/matrix_rate.h"
#include "bench/pushes.h"
#include "bench/seconds.h"
#include "bench/workload.h"
#include "core/stopwatch.h"
#include "device/check.h"
#include "device/library.h"
#include "kernels/wan_vae/compare.h"
#include "models/wan_vae/config.h"
#include "models/wan_vae/pass_plan.h"
#include "models/wan_vae/session.h"
#include "models/wan_vae/synthetic.h"

namespace pantograph::bench {
namespace {

using wan_vae::Session;

double gib(std::size_t bytes) {
  return static_cast<double>(bytes) * 0x1p-30;
}

class Bench {
 public:
  Bench(const DecodeBench& options, const std::function<void(const std::string&)>& say)
      : options_(options),
        say_(say),
        config_(wan_vae::released_config()),
        device_(options.device),
        monitor_(options.device.index) {}

  Json run() {
    std::vector<Workload> workloads;
    for (const std::string& name : options_.workloads) {
      workloads.push_back(parse_workload(name, config_));
    }
    const device::Gpu gpu = device::require_gpu(device_.index);
    const device::CurrentDevice current(device_);
    stream_ = device::Stream(device::create_stream());
    rate_ = matrix_rate();
    say_(join(gpu.name, ": bf16 8192^3 at ", rate_.burst * 1e-12, " TFLOP/s, sustained ",
              rate_.sustained * 1e-12));

    Clock::time_point begin = Clock::now();
    made_ = wan_vae::make_memory_checkpoint(config_, 0);
    say_(join("weights made in ", seconds_since(begin), " s"));

    Json::Array results;
    std::vector<std::unique_ptr<DeviceVideo>> videos;
    for (const Workload& workload : workloads) {
      results.push_back(Json(measure(workload, videos)));
    }
    compare_prefixes(workloads, videos, results);
    if (options_.check) check(workloads, videos, results);
    return Json(Json::Object{
        {"gpu", Json(gpu.name)},
        {"driver", Json(monitor_.driver_version())},
        {"libraries", Json(libraries())},
        {"matrix_rate_tflops", Json(rate_.burst * 1e-12)},
        {"sustained_matrix_rate_tflops", Json(rate_.sustained * 1e-12)},
        {"workloads", Json(std::move(results))},
    });
  }

 private:
  static Json::Array libraries() {
    Json::Array lines;
    for (const std::string& line : device::describe_libraries()) lines.push_back(Json(line));
    return lines;
  }

  DecodeOptions decode_options(const Workload& workload, Precision precision) const {
    const bool measured = precision == Precision::kBF16;  // and not what it is compared with
    return {.precision = precision,
            .algorithm = measured ? options_.algorithm : Algorithm::kAuto,
            .frames_per_pass = options_.frames_per_pass,
            .clip_frames = workload.latent_frames,
            .memory_limit = measured ? options_.memory_limit : 0,
            .context = {.device = device_, .stream = stream_.get()}};
  }

  // One latent is made; every workload of a size is a prefix of it.
  TensorView latents(const Workload& workload, device::Memory& memory) const {
    const std::vector<std::uint16_t> values =
        wan_vae::make_memory_latents(workload.latent_frames, workload.height, workload.width, 0);
    memory = device::Memory(device_, values.size() * sizeof(std::uint16_t));
    device::copy(memory.data(), values.data(), memory.bytes(), nullptr);
    device::synchronize(nullptr);
    return TensorView::dense(
        memory.data(), DType::kBF16,
        {config_.latent_channels, workload.latent_frames, workload.height, workload.width},
        device_);
  }

  // A whole decode with everything a caller waits for but the weights: session, passes, frames.
  // One latent frame a pass is how a stream is decoded, so then the clip comes as one.
  double decode(const Workload& workload, const TensorView& clip, Precision precision,
                FrameSink& sink) {
    device::check(cudaDeviceSynchronize());
    const Clock::time_point begin = Clock::now();
    {
      Session session(decoder_, config_, workload.height, workload.width,
                      decode_options(workload, precision));
      const auto finish = [this] { device::synchronize(stream_.get()); };
      if (options_.frames_per_pass == 1) {
        push_singly(session, clip, sink, finish, pushes_);
      } else {
        session.push(clip, sink);
        finish();
      }
      frames_per_pass_ = session.frames_per_pass();
      planned_ = session.planned_bytes();
      weights_ = session.weight_bytes();
      weight_seconds_ = session.weight_seconds();
    }
    return seconds_since(begin);
  }

  Json::Object measure(const Workload& workload,
                       std::vector<std::unique_ptr<DeviceVideo>>& videos) {
    const VideoShape shape = video_shape(workload, config_);
    device::Memory latent_memory;
    const TensorView clip = latents(workload, latent_memory);
    videos.push_back(std::make_unique<DeviceVideo>(device_, shape, stream_.get()));
    DeviceVideo& video = *videos.back();
    std::size_t callers = 0;
    for (const auto& made : videos) callers += made->bytes();

    // Of its own, for weights that another size wanted would count as well.
    decoder_ = std::make_shared<const wan_vae::Decoder>(config_, made_.checkpoint);
    monitor_.reset_peak();
    video.poison();
    const double first = decode(workload, clip, Precision::kBF16, video);
    const double weights = weight_seconds_;
    const unsigned long long checked = video.checksum();
    const kernels::Difference sanity = video.difference(video);
    if (sanity.not_finite > 0 || sanity.out_of_range > 0) {
      fail(ErrorKind::kInternal, workload.name, ": ", sanity.not_finite, " values are not finite, ",
           sanity.out_of_range, " beyond [-1, 1]");
    }
    std::vector<double> times;
    pushes_ = {};
    for (int i = 0; i < options_.runs; ++i) {
      video.poison();
      times.push_back(decode(workload, clip, Precision::kBF16, video));
      if (video.checksum() != checked) {
        fail(ErrorKind::kInternal, workload.name, ": run ", i + 1, " differs from the first");
      }
    }
    const std::size_t peak = monitor_.peak_bytes() - callers;
    const std::size_t expected = planned_ + weights_ + wan_vae::kLibrariesOnGpu;
    const double flops =
        decode_flops(config_, workload.latent_frames, workload.height, workload.width);
    Json::Object result = {
        {"name", Json(workload.name)},
        {"frames", Json(shape.frames)},
        {"height", Json(shape.height)},
        {"width", Json(shape.width)},
        {"gpus", Json(std::int64_t{options_.gpus})},
        {"latent_frames_per_pass", Json(frames_per_pass_)},
        {"direct_pflop", Json(flops * 1e-15)},
        {"first_seconds", Json(first)},
        {"first_weight_seconds", Json(weights)},
        {"sm_clock_mhz", Json(std::int64_t{monitor_.clock()})},
        {"peak_bytes", Json(static_cast<std::int64_t>(peak))},
        {"output_bytes", Json(static_cast<std::int64_t>(video.bytes()))},
        {"planned_session_bytes", Json(static_cast<std::int64_t>(planned_))},
        {"planned_bytes", Json(static_cast<std::int64_t>(expected))},
        {"checksum", Json(std::to_string(checked))},
    };
    std::string line =
        join(workload.name, ": first ", first, " s (weights ", weights, "), peak ", gib(peak),
             " GiB, planned ", gib(expected), " GiB, ", frames_per_pass_, " latent frames a pass");
    if (!times.empty()) {
      const Spread spread = spread_of(times);
      const double gap = spread.median * rate_.burst / flops;
      const double sustained = spread.median * rate_.sustained / flops;
      add_seconds(result, "seconds", times);
      result.insert(result.end(), {{"gap", Json(gap)}, {"sustained_gap", Json(sustained)}});
      line += join(", ", describe(spread), ", gap ", gap, " (sustained ", sustained, ")");
      add_pushes(pushes_, result, line);
      if (!options_.output.empty()) {
        add_file(time_to_file(workload, clip), spread.median, result, line);
      }
    }
    say_(line);
    if (options_.kernels) {
      KernelTable table;
      decode(workload, clip, Precision::kBF16, video_again(video));
      result.push_back({"kernels", table.finish(say_)});
    }
    return result;
  }

  FileTimes time_to_file(const Workload& workload, const TensorView& clip) {
    return time_file(options_.output, video_shape(workload, config_), options_.runs,
                     [&](FrameSink& sink) { decode(workload, clip, Precision::kBF16, sink); });
  }

  // A decode is causal: the frames that two clips of a size share should be the same.
  void compare_prefixes(const std::vector<Workload>& workloads,
                        const std::vector<std::unique_ptr<DeviceVideo>>& videos,
                        Json::Array& results) {
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      for (std::size_t j = 0; j < workloads.size(); ++j) {
        if (workloads[i].height != workloads[j].height ||
            workloads[i].width != workloads[j].width ||
            workloads[i].latent_frames >= workloads[j].latent_frames) {
          continue;
        }
        const kernels::Difference d = videos[i]->difference(*videos[j]);
        say_(join(workloads[i].name, " and the beginning of ", workloads[j].name,
                  ": max difference ", d.largest));
        Json::Object result = *results[i].object();
        result.push_back({"difference_from_" + workloads[j].name, Json(double{d.largest})});
        results[i] = Json(std::move(result));
      }
    }
  }

  static DeviceVideo& video_again(DeviceVideo& video) {
    video.poison();
    return video;
  }

  // One f32 decode of the longest clip of a size serves all of that size.
  void check(const std::vector<Workload>& workloads,
             const std::vector<std::unique_ptr<DeviceVideo>>& videos, Json::Array& results) {
    std::vector<bool> done(workloads.size());
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      if (done[i]) continue;
      std::vector<std::size_t> same;
      std::vector<const DeviceVideo*> compared;
      Workload longest = workloads[i];
      for (std::size_t j = i; j < workloads.size(); ++j) {
        if (workloads[j].height != longest.height || workloads[j].width != longest.width) continue;
        if (workloads[j].latent_frames > longest.latent_frames) longest = workloads[j];
        same.push_back(j);
        compared.push_back(videos[j].get());
        done[j] = true;
      }
      device::Memory memory;
      const TensorView clip = latents(longest, memory);
      ComparingSink sink(device_, compared, stream_.get());
      const double seconds = decode(longest, clip, Precision::kF32, sink);
      say_(join(longest.name, " in f32: ", seconds, " s"));
      for (std::size_t k = 0; k < same.size(); ++k) {
        const kernels::Difference d = sink.difference(k);
        const double elements = static_cast<double>(compared[k]->bytes()) / sizeof(float);
        const double rms = std::sqrt(d.squared / elements);
        say_(join(workloads[same[k]].name, ": max |d| ", d.largest, ", rms ", rms));
        Json::Object result = *results[same[k]].object();
        result.insert(result.end(), {{"max_error", Json(double{d.largest})},
                                     {"rms_error", Json(rms)},
                                     {"reference_seconds", Json(seconds)}});
        results[same[k]] = Json(std::move(result));
      }
    }
  }

  const DecodeBench& options_;
  const std::function<void(const std::string&)>& say_;
  VaeConfig config_;
  Device device_;
  GpuMonitor monitor_;  // before anything else is on the GPU
  device::Stream stream_;
  wan_vae::MemoryCheckpoint made_;
  std::shared_ptr<const wan_vae::Decoder> decoder_;  // of the last workload
  MatrixRate rate_;
  // Of the last session.
  std::int64_t frames_per_pass_ = 0;
  double weight_seconds_ = 0;
  std::size_t planned_ = 0, weights_ = 0;
  PushTimes pushes_;  // of all sessions since it was emptied
};

}  // namespace

Json run(const DecodeBench& options, const std::function<void(const std::string&)>& say) {
  return Bench(options, say).run();
}

}  // namespace pantograph::bench
