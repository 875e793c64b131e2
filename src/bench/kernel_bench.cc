#include "bench/kernel_bench.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench/gpu_monitor.h"
#include "bench/kernel_cases.h"
#include "bench/matrix_rate.h"
#include "bench/seconds.h"
#include "core/convert.h"
#include "core/random.h"
#include "device/check.h"
#include "device/memory.h"
#include "device/timing.h"
#include "kernels/hopper/component_gemm.h"
#include "kernels/wan_vae/launch.h"
#include "kernels/winograd/upsample.h"
#include "kernels/winograd/winograd.h"
#include "ops/conv3d/by_taps.h"

namespace pantograph::bench {
namespace {

using geometry::DuplicateUpsample, geometry::WinogradTiles;
using Launch = std::function<cudaError_t(cudaStream_t)>;

constexpr std::int64_t kMostChannels = 2048;  // of a bias or gamma

std::string text(const FramesCase& c) {
  return join(c.frames, " x ", c.height, " x ", c.width, " x ", c.channels);
}

std::string text(const ConvolutionCase& c) {
  return join(text(c.y), ", F(", c.tile_size, ", 3)");
}

std::string text(const DuplicateUpsample& p) {
  return join(p.out_frames(), " x ", 2 * p.height, " x ", 2 * p.width, " x ", p.out_channels);
}

const float* floats(const device::Memory& memory) {
  return reinterpret_cast<const float*>(memory.data());
}

std::vector<float> normal_numbers(std::size_t count) {
  const Random random(0, 0);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(random.normal(i));
  return numbers;
}

// What a kernel does, how fast, and what its rate is compared with.
struct Quantity {
  const char *work, *rate;  // keys of the results
  double scale;             // of the rate
  const char *unit, *peer;
};
constexpr Quantity kOperations = {"flops", "tflops", 1e-12, "TFLOP/s", "cuBLAS"};
constexpr Quantity kBytes = {"bytes", "gb_per_s", 1e-9, "GB/s", "a copy"};

// What becomes of y in the next layer, behind room for its history.
struct Normed {
  device::Memory frames, history;
  kernels::WinogradNorm norm;
};

class Bench {
 public:
  Bench(const KernelBench& options, const std::function<void(const std::string&)>& say)
      : device_(options.device), say_(say) {}

  Json run() {
    const device::Gpu gpu = device::require_gpu(device_.index);
    if (device::compute_capability(device_.index) != 90) {
      fail(ErrorKind::kUnsupported, "GPU ", gpu.index, " (", gpu.name, ") has compute capability ",
           gpu.major, ".", gpu.minor, "; the kernels of the fast decode are for 9.0, Hopper, only");
    }
    // It resets the GPU, so it comes before everything that lies there.
    const std::string driver = GpuMonitor(device_.index).driver_version();
    const device::CurrentDevice current(device_);
    stream_ = device::Stream(device::create_stream());
    channel_numbers_ = numbers(DType::kF32, kMostChannels);
    largest_ = device::Memory(device_, sizeof(float), {}, stream_.get());

    matrix_ = matrix_rate();
    copy_ = copy_rate();
    say_(join(gpu.name, ": bf16 8192^3 at ", matrix_.burst * 1e-12, " TFLOP/s, sustained ",
              matrix_.sustained * 1e-12, "; a copy at ", copy_ * 1e-9, " GB/s"));
    for (const ConvolutionCase& c : kConvolutions) products(c);
    temporal_products();
    for (const ConvolutionCase& c : kConvolutions) input(c);
    for (const ConvolutionCase& c : kConvolutions) {
      for (const OutputWay& way : kOutputWays) output(c, way);
    }
    for (const DuplicateUpsample& p : kUpsamplers) upsample_input(p);
    for (const DuplicateUpsample& p : kUpsamplers) upsample_output(p);
    sum_taps();
    rms_norm();
    return Json(Json::Object{{"gpu", Json(gpu.name)},
                             {"driver", Json(driver)},
                             {"matrix_rate_tflops", Json(matrix_.burst * 1e-12)},
                             {"sustained_matrix_rate_tflops", Json(matrix_.sustained * 1e-12)},
                             {"copy_rate_gb_per_s", Json(copy_ * 1e-9)},
                             {"kernels", Json(std::move(results_))}});
  }

 private:
  [[nodiscard]] device::Memory room(std::int64_t bytes) const {
    return {device_, static_cast<std::size_t>(bytes), {}, nullptr, device::Fill::kNone};
  }

  // N(0, 1), repeated: zeros take less power, and a GPU runs faster on them.
  [[nodiscard]] device::Memory numbers(DType dtype, std::int64_t count) const {
    const std::int64_t element = static_cast<std::int64_t>(size_of(dtype));
    device::Memory memory = room(count * element);
    const std::int64_t given = std::min(count, std::ssize(normal_numbers_));
    std::vector<std::byte> converted(static_cast<std::size_t>(given * element));
    convert_from_f32(normal_numbers_.data(), dtype, converted.data(), given);
    device::copy(memory.data(), converted.data(), converted.size(), stream_.get());
    for (std::size_t filled = converted.size(); filled < memory.bytes();) {
      const std::size_t more = std::min(filled, memory.bytes() - filled);
      device::copy(memory.data() + filled, memory.data(), more, stream_.get());
      filled += more;
    }
    device::synchronize(stream_.get());
    return memory;
  }
  [[nodiscard]] device::Memory frames(const FramesCase& c) const {
    return numbers(DType::kBF16, c.positions() * c.channels);
  }
  [[nodiscard]] Normed norm_of(FramesCase y, std::int64_t history_frames) const {
    FramesCase history = y;
    history.frames = history_frames;
    y.frames += history_frames;
    Normed made{frames(y), frames(history), {}};
    made.norm = {.gamma = floats(channel_numbers_),
                 .y = made.frames.data() + made.history.bytes(),
                 .history = made.history.data(),
                 .history_frames = history_frames};
    return made;
  }

  // Milliseconds of each launch, one right after the other.
  [[nodiscard]] std::vector<double> burst(const Launch& launch) const {
    constexpr int kWarmUp = 3, kTimed = 20;
    const auto run = [&] { device::check(launch(static_cast<cudaStream_t>(stream_.get()))); };
    for (int i = 0; i < kWarmUp; ++i) run();
    return device::time_each(kTimed, stream_.get(), run);
  }

  // Bytes read and written a second.
  [[nodiscard]] double copy_rate() const {
    constexpr std::int64_t kCopied = std::int64_t{1} << 30;
    const device::Memory source = numbers(DType::kF32, kCopied / 4), target = room(kCopied);
    const Spread times = spread_of(burst([&](cudaStream_t stream) {
      return cudaMemcpyAsync(target.data(), source.data(), kCopied, cudaMemcpyDeviceToDevice,
                             stream);
    }));
    return 2 * kCopied / (times.median * 1e-3);
  }

  void measure(const std::string& name, const std::string& shape, const Quantity& quantity,
               double peer_rate, std::int64_t work, const Launch& launch) {
    const std::vector<double> times = burst(launch);
    const double milliseconds = spread_of(times).median;
    const double rate = static_cast<double>(work) / (milliseconds * 1e-3);
    Json::Object result = {{"name", Json(name)}, {"shape", Json(shape)}};
    add_seconds(result, "milliseconds", times);
    result.insert(result.end(), {{quantity.work, Json(work)},
                                 {quantity.rate, Json(rate * quantity.scale)},
                                 {"share", Json(rate / peer_rate)}});
    results_.push_back(Json(std::move(result)));
    char line[160];
    std::snprintf(line, sizeof line, "%-46s%-30s%8.3f ms%6.0f %-8s%5.2f of %s", name.c_str(),
                  shape.c_str(), milliseconds, rate * quantity.scale, quantity.unit,
                  rate / peer_rate, quantity.peer);
    say_(line);
  }
  void moves(const std::string& name, const std::string& shape, std::int64_t bytes,
             const Launch& launch) {
    measure(name, shape, kBytes, copy_, bytes, launch);
  }

  // Without pointers but, perhaps, the bias.
  void products(const std::string& name, const std::string& shape, kernels::ComponentGemm p) {
    const std::int64_t depth = p.taps * p.in_channels;
    const device::Memory a = numbers(p.dtype, p.a_components * p.a_rows * p.in_channels);
    const device::Memory b = numbers(p.dtype, p.components * p.out_channels * depth);
    const device::Memory y = room(p.components * p.rows * p.out_channels * kElement);
    for (std::size_t i = 0; i < p.a_of.size(); ++i) p.a_of[i] = static_cast<std::uint8_t>(i);
    p.a = a.data(), p.b = b.data(), p.y = y.data();
    measure(join(name, ", K = ", depth), shape, kOperations, matrix_.burst,
            product_flops(p.components, p.rows, depth, p.out_channels),
            [&](cudaStream_t stream) { return kernels::component_gemm(p, stream); });
  }

  void products(const ConvolutionCase& c) {
    const WinogradTiles tiles = c.tiles();
    products("component_gemm, f16", text(c),
             {.dtype = DType::kF16,
              .y_dtype = DType::kF16,
              .components = tiles.components(),
              .a_components = tiles.components(),
              .rows = c.y.frames * tiles.per_frame(),
              .a_rows = (c.y.frames + kHistory) * tiles.per_frame(),
              .in_channels = c.y.channels,
              .out_channels = c.y.channels,
              .taps = kTaps,
              .tap_rows = tiles.per_frame()});
  }

  // On frames as they are, channels last.
  void temporal_products() {
    constexpr std::int64_t kPlane = kTemporal.height * kTemporal.width;
    products("component_gemm, bf16", text(kTemporal),
             {.dtype = DType::kBF16,
              .y_dtype = DType::kBF16,
              .components = 1,
              .a_components = 1,
              .rows = kTemporal.frames * kPlane,
              .a_rows = (kTemporal.frames + kHistory) * kPlane,
              .in_channels = kTemporal.channels / 2,
              .out_channels = kTemporal.channels,
              .taps = kTaps,
              .tap_rows = kPlane,
              .bias = floats(channel_numbers_)});
  }

  void input(const ConvolutionCase& c) {
    FramesCase read = c.y;
    read.frames += kHistory;
    const WinogradTiles tiles = c.tiles();
    const device::Memory x = frames(read);
    const device::Memory v =
        room(tiles.components() * read.frames * tiles.per_frame() * read.channels * kElement);
    const kernels::WinogradInput p{.tiles = tiles,
                                   .frames = read.frames,
                                   .channels = read.channels,
                                   .x = x.data(),
                                   .v = v.data()};
    moves("winograd_input", text(ConvolutionCase{c.tile_size, read}), input_bytes(c),
          [&](cudaStream_t stream) { return kernels::winograd_input(p, stream); });
  }

  void output(const ConvolutionCase& c, const OutputWay& way) {
    const WinogradTiles tiles = c.tiles();
    const device::Memory m =
        numbers(DType::kF16, tiles.components() * c.y.frames * tiles.per_frame() * c.y.channels);
    const device::Memory y = frames(c.y);
    const Normed normed = norm_of(c.y, way.history_frames);
    const kernels::WinogradOutput p{.tiles = tiles,
                                    .frames = c.y.frames,
                                    .channels = c.y.channels,
                                    .m = m.data(),
                                    .bias = floats(channel_numbers_),
                                    .residual = way.residual ? y.data() : nullptr,
                                    .y = way.y ? y.data() : nullptr,
                                    .norm = way.norm ? normed.norm : kernels::WinogradNorm{}};
    moves(join("winograd_output: ", way.name), text(c), output_bytes(c, way),
          [&](cudaStream_t stream) { return kernels::winograd_output(p, stream); });
  }

  void upsample_input(const DuplicateUpsample& sizes) {
    const WinogradTiles tiles = upsample_tiles(sizes);
    const std::int64_t read = sizes.out_frames() * sizes.out_channels;  // of a pixel of x
    const device::Memory x = numbers(DType::kBF16, read * sizes.height * sizes.width);
    const device::Memory v = room(tiles.components() * read * tiles.per_frame() * kElement);
    const kernels::UpsampleInput p{.tiles = tiles,
                                   .frames = sizes.out_frames(),
                                   .channels = sizes.out_channels,
                                   .copies = sizes.temporal_factor,
                                   .x = x.data(),
                                   .range = {.largest = floats(largest_)},
                                   .v = v.data()};
    moves("upsample_input", text(sizes), upsample_input_bytes(sizes),
          [&](cudaStream_t stream) { return kernels::upsample_input(p, stream); });
  }

  void upsample_output(const DuplicateUpsample& sizes) {
    const WinogradTiles tiles = upsample_tiles(sizes);
    const FramesCase enlarged = {sizes.out_frames(), 2 * sizes.height, 2 * sizes.width,
                                 sizes.out_channels};
    const device::Memory m = numbers(DType::kF16, kernels::kUpsampleProducts * enlarged.frames *
                                                      tiles.per_frame() * enlarged.channels);
    const device::Memory shortcut =
        frames({sizes.frames, sizes.height, sizes.width, sizes.in_channels});
    const device::Memory y = frames(enlarged);
    const Normed normed = norm_of(enlarged, kHistory);
    const kernels::UpsampleOutput p{.tiles = tiles,
                                    .duplicate = sizes,
                                    .m = m.data(),
                                    .bias = floats(channel_numbers_),
                                    .shortcut = shortcut.data(),
                                    .range = {.largest = floats(largest_)},
                                    .y = y.data(),
                                    .norm = normed.norm};
    moves("upsample_output: shortcut, y, norm, history", text(sizes), upsample_output_bytes(sizes),
          [&](cudaStream_t stream) { return kernels::upsample_output(p, stream); });
  }

  void sum_taps() {
    const device::Memory parts = numbers(DType::kF16, kPatches.positions() * ops::kTapChannels);
    const device::Memory y = frames(kPatches);
    const kernels::SumTaps p{.frames = kPatches.frames,
                             .height = kPatches.height,
                             .width = kPatches.width,
                             .channels = kPatches.channels,
                             .part_channels = ops::kTapChannels,
                             .parts = parts.data(),
                             .y = y.data()};
    moves("sum_taps", text(kPatches), sum_taps_bytes(kPatches),
          [&](cudaStream_t stream) { return kernels::sum_taps(p, stream); });
  }

  void rms_norm() {
    const device::Memory x = frames(kNormed);
    const Normed normed = norm_of(kNormed, kHistory);
    const kernels::RmsNorm p{.dtype = DType::kBF16,
                             .rows = kNormed.positions(),
                             .channels = kNormed.channels,
                             .silu = true,
                             .x = x.data(),
                             .gamma = normed.norm.gamma,
                             .y = normed.norm.y,
                             .history = normed.norm.history,
                             .history_rows = kHistory * kNormed.height * kNormed.width};
    moves("rms_norm: silu, history", text(kNormed), rms_norm_bytes(kNormed, kHistory),
          [&](cudaStream_t stream) { return kernels::rms_norm(p, stream); });
  }

  Device device_;
  const std::function<void(const std::string&)>& say_;
  const std::vector<float> normal_numbers_ = normal_numbers(1'000'000);
  device::Stream stream_;
  device::Memory channel_numbers_;  // for biases and gammas
  device::Memory largest_;          // 0: nothing is scaled
  MatrixRate matrix_;
  double copy_ = 0;  // bytes/s
  Json::Array results_;
};

}  // namespace

Json run(const KernelBench& options, const std::function<void(const std::string&)>& say) {
  return Bench(options, say).run();
}

}  // namespace pantograph::bench
