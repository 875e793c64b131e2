#include "bench/decode_bench.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/gpu_monitor.h"
#include "bench/kernel_table.h"
#include "bench/matrix_rate.h"
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

// Bytes on the device that are the caller's: latents in, frames out.
class DeviceVideo final : public FrameSink {
 public:
  DeviceVideo(const Device& device, std::int64_t frames, std::int64_t height, std::int64_t width,
              void* stream)
      : device_(device),
        frame_bytes_(static_cast<std::size_t>(height * width * 3) * sizeof(float)),
        memory_(device, static_cast<std::size_t>(frames) * frame_bytes_),
        stream_(stream) {}

  [[nodiscard]] FrameFormat preferred_format() const override { return {.device = device_}; }
  void write(const TensorView& frames) override {
    device::copy(memory_.data() + written_, frames.data, frames.bytes(), stream_);
    written_ += frames.bytes();
  }
  void poison() {  // every f32 becomes NaN
    written_ = 0;
    device::check(
        cudaMemsetAsync(memory_.data(), 0xff, memory_.bytes(), static_cast<cudaStream_t>(stream_)));
  }
  [[nodiscard]] unsigned long long checksum(std::size_t bytes) const {
    const device::Memory sum(device_, sizeof(unsigned long long), {}, stream_);
    device::check(kernels::checksum(memory_.data(), static_cast<std::int64_t>(bytes / 4),
                                    reinterpret_cast<unsigned long long*>(sum.data()),
                                    static_cast<cudaStream_t>(stream_)));
    unsigned long long value = 0;
    device::copy(&value, sum.data(), sizeof value, stream_);
    device::synchronize(stream_);
    return value;
  }
  [[nodiscard]] const std::byte* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  Device device_;
  std::size_t frame_bytes_;
  device::Memory memory_;
  void* stream_;
  std::size_t written_ = 0;
};

// Compares the frames of a reference decode with videos made before, as far as they go.
class ComparingSink final : public FrameSink {
 public:
  ComparingSink(const Device& device, std::vector<const DeviceVideo*> videos, void* stream)
      : device_(device),
        videos_(std::move(videos)),
        sums_(device, videos_.size() * sizeof(kernels::Difference)),
        stream_(stream) {
    device::synchronize(nullptr);
  }

  [[nodiscard]] FrameFormat preferred_format() const override { return {.device = device_}; }
  void write(const TensorView& frames) override {
    for (std::size_t i = 0; i < videos_.size(); ++i) {
      const std::size_t end = std::min(videos_[i]->bytes(), at_ + frames.bytes());
      if (end <= at_) continue;
      device::check(kernels::compare(DType::kF32, videos_[i]->data() + at_, frames.data,
                                     static_cast<std::int64_t>((end - at_) / sizeof(float)),
                                     reinterpret_cast<kernels::Difference*>(sums_.data()) + i,
                                     static_cast<cudaStream_t>(stream_)));
    }
    at_ += frames.bytes();
  }
  [[nodiscard]] kernels::Difference difference(std::size_t video) const {
    kernels::Difference result;
    device::copy(&result, sums_.data() + video * sizeof result, sizeof result, stream_);
    device::synchronize(stream_);
    return result;
  }

 private:
  Device device_;
  std::vector<const DeviceVideo*> videos_;
  device::Memory sums_;
  void* stream_;
  std::size_t at_ = 0;
};

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
    wan_vae::MemoryCheckpoint made = wan_vae::make_memory_checkpoint(config_, 0);
    decoder_ = std::make_shared<const wan_vae::Decoder>(config_, made.checkpoint);
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

  std::size_t weight_bytes(const Workload& workload, Precision precision) const {
    return wan_vae::weights_on_gpu(*decoder_,
                                   wan_vae::clip_shape(config_, workload.height, workload.width,
                                                       decode_options(workload, precision)));
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
  double decode(const Workload& workload, const TensorView& clip, Precision precision,
                FrameSink& sink) {
    device::check(cudaDeviceSynchronize());
    const Clock::time_point begin = Clock::now();
    {
      Session session(decoder_, config_, workload.height, workload.width,
                      decode_options(workload, precision));
      session.push(clip, sink);
      device::synchronize(stream_.get());
      frames_per_pass_ = session.frames_per_pass();
      planned_ = session.planned_bytes();
      weight_seconds_ = session.weight_seconds();
    }
    return seconds_since(begin);
  }

  Json::Object measure(const Workload& workload,
                       std::vector<std::unique_ptr<DeviceVideo>>& videos) {
    const std::int64_t frames = config_.video_frames(workload.latent_frames);
    const std::int64_t factor = config_.spatial_factor();
    device::Memory latent_memory;
    const TensorView clip = latents(workload, latent_memory);
    videos.push_back(std::make_unique<DeviceVideo>(device_, frames, factor * workload.height,
                                                   factor * workload.width, stream_.get()));
    DeviceVideo& video = *videos.back();
    std::size_t callers = 0;
    for (const auto& made : videos) callers += made->bytes();

    monitor_.reset_peak();
    video.poison();
    const double first = decode(workload, clip, Precision::kBF16, video);
    const double weights = weight_seconds_;
    const unsigned long long checked = video.checksum(video.bytes());
    const kernels::Difference sanity = against_itself(video);
    if (sanity.not_finite > 0 || sanity.out_of_range > 0) {
      fail(ErrorKind::kInternal, workload.name, ": ", sanity.not_finite, " values are not finite, ",
           sanity.out_of_range, " beyond [-1, 1]");
    }
    std::vector<double> times;
    for (int i = 0; i < options_.runs; ++i) {
      video.poison();
      times.push_back(decode(workload, clip, Precision::kBF16, video));
      if (video.checksum(video.bytes()) != checked) {
        fail(ErrorKind::kInternal, workload.name, ": run ", i + 1, " differs from the first");
      }
    }
    const std::size_t peak = monitor_.peak_bytes() - callers;
    const std::size_t expected =
        planned_ + weight_bytes(workload, Precision::kBF16) + wan_vae::kLibrariesOnGpu;
    std::sort(times.begin(), times.end());
    const double flops =
        decode_flops(config_, workload.latent_frames, workload.height, workload.width);
    Json::Object result = {
        {"name", Json(workload.name)},
        {"frames", Json(frames)},
        {"height", Json(factor * workload.height)},
        {"width", Json(factor * workload.width)},
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
      const double median = times[times.size() / 2];
      result.insert(result.end(), {{"seconds", Json(median)},
                                   {"seconds_min", Json(times.front())},
                                   {"seconds_max", Json(times.back())},
                                   {"gap", Json(median * rate_.burst / flops)},
                                   {"sustained_gap", Json(median * rate_.sustained / flops)}});
      line +=
          join(", ", median, " s (", times.front(), " to ", times.back(), "), gap ",
               median * rate_.burst / flops, " (sustained ", median * rate_.sustained / flops, ")");
    }
    say_(line);
    if (options_.kernels) {
      KernelTable table;
      decode(workload, clip, Precision::kBF16, video_again(video));
      result.push_back({"kernels", table.finish(say_)});
    }
    return result;
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
        const kernels::Difference d = difference(*videos[i], *videos[j], videos[i]->bytes());
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

  kernels::Difference against_itself(const DeviceVideo& video) const {
    return difference(video, video, video.bytes());
  }

  kernels::Difference difference(const DeviceVideo& a, const DeviceVideo& b,
                                 std::size_t bytes) const {
    const device::Memory sums(device_, sizeof(kernels::Difference), {}, stream_.get());
    device::check(kernels::compare(DType::kF32, a.data(), b.data(),
                                   static_cast<std::int64_t>(bytes / sizeof(float)),
                                   reinterpret_cast<kernels::Difference*>(sums.data()),
                                   static_cast<cudaStream_t>(stream_.get())));
    kernels::Difference result;
    device::copy(&result, sums.data(), sizeof result, stream_.get());
    device::synchronize(stream_.get());
    return result;
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
  GpuMonitor monitor_;  // before anything touches the GPU
  device::Stream stream_;
  std::shared_ptr<const wan_vae::Decoder> decoder_;
  MatrixRate rate_;
  // Of the last session.
  std::int64_t frames_per_pass_ = 0;
  double weight_seconds_ = 0;
  std::size_t planned_ = 0;
};

}  // namespace

Json run(const DecodeBench& options, const std::function<void(const std::string&)>& say) {
  return Bench(options, say).run();
}

}  // namespace pantograph::bench
