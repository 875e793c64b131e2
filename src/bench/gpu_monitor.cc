#include "bench/gpu_monitor.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/check.h"
#include "device/check.h"
#include "device/library.h"

namespace pantograph::bench {
namespace {

using device::GpuLibrary;

// From nvml.h, which comes with no package that the build needs.
using Handle = struct NvmlDevice*;
struct MemoryInfo {
  unsigned long long total, free, used;
};
constexpr int kSmClock = 1;

}  // namespace

struct GpuMonitor::Nvml {
  int (*memory)(Handle, MemoryInfo*) =
      device::function<int(Handle, MemoryInfo*)>(GpuLibrary::kNvml, "nvmlDeviceGetMemoryInfo");
  int (*clock)(Handle, int,
               unsigned*) = device::function<int(Handle, int, unsigned*)>(GpuLibrary::kNvml,
                                                                          "nvmlDeviceGetClockInfo");
  Handle gpu = nullptr;

  [[nodiscard]] std::size_t used() const {
    MemoryInfo info{};
    require(memory(gpu, &info) == 0, "NVML does not tell the GPU's memory");
    return info.used;
  }
};

GpuMonitor::GpuMonitor(int device) : nvml_(std::make_unique<Nvml>()) {
  const auto init = device::function<int()>(GpuLibrary::kNvml, "nvmlInit_v2");
  const auto find = device::function<int(const char*, Handle*)>(GpuLibrary::kNvml,
                                                                "nvmlDeviceGetHandleByPciBusId_v2");
  // NVML counts all GPUs of the machine, CUDA those that CUDA_VISIBLE_DEVICES leaves.
  std::array<char, 32> bus{};
  device::check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device));
  if (init() != 0 || find(bus.data(), &nvml_->gpu) != 0) {
    fail(ErrorKind::kNotFound, "NVML knows no GPU at ", bus.data());
  }
  // The context that was made when the GPU was chosen counts as well.
  device::check(cudaSetDevice(device));
  device::check(cudaDeviceReset());
  before_ = nvml_->used();
  thread_ = std::thread([this] {
    while (!stop_) {
      sample();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}

GpuMonitor::~GpuMonitor() {
  stop_ = true;
  thread_.join();
}

void GpuMonitor::sample() {
  MemoryInfo info{};
  unsigned clock = 0;
  const bool memory_known = nvml_->memory(nvml_->gpu, &info) == 0;
  const bool clock_known = nvml_->clock(nvml_->gpu, kSmClock, &clock) == 0;
  const std::lock_guard lock(mutex_);
  if (memory_known) peak_ = std::max<std::size_t>(peak_, info.used);
  if (clock_known) clocks_.push_back(static_cast<int>(clock));
}

std::size_t GpuMonitor::used_bytes() const {
  return nvml_->used() - std::min(before_, nvml_->used());
}

std::size_t GpuMonitor::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_ - std::min(before_, peak_);
}

void GpuMonitor::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = 0;
  clocks_.clear();
}

int GpuMonitor::clock() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> sorted = clocks_;
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

std::string GpuMonitor::driver_version() const {
  char text[96] = {};
  const auto version =
      device::function<int(char*, unsigned)>(GpuLibrary::kNvml, "nvmlSystemGetDriverVersion");
  return version(text, sizeof text) == 0 ? text : "";
}

}  // namespace pantograph::bench
