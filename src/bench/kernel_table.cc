#include "bench/kernel_table.h"

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/check.h"
#include "device/check.h"
#include "device/library.h"

namespace pantograph::bench {
namespace {

using device::GpuLibrary;

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

struct Total {
  std::int64_t launches = 0;
  double milliseconds = 0;
};

std::mutex totals_mutex;
std::map<std::string, Total> totals;  // CUPTI's callbacks carry no context

void add(const std::string& name, std::uint64_t begin, std::uint64_t end) {
  const std::lock_guard lock(totals_mutex);
  Total& total = totals[name];
  ++total.launches;
  total.milliseconds += static_cast<double>(end - begin) * 1e-6;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *records = 0;
}

void CUPTIAPI take_buffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                          std::size_t /*size*/, std::size_t valid) {
  const std::unique_ptr<std::uint8_t, decltype(&std::free)> owner(buffer, std::free);
  const auto next = device::function<decltype(cuptiActivityGetNextRecord)>(
      GpuLibrary::kCupti, "cuptiActivityGetNextRecord");
  CUpti_Activity* record = nullptr;
  while (next(buffer, valid, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
        add(kernel->name, kernel->start, kernel->end);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
        add("[copy]", copy->start, copy->end);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        const auto* set = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
        add("[memset]", set->start, set->end);
        break;
      }
      default:
        break;
    }
  }
}

void call(const char* name, CUptiResult result) {
  require(result == CUPTI_SUCCESS, "CUPTI: ", name, " failed with ", static_cast<int>(result));
}

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

// Which library launched a kernel, by how each names its own.
std::string origin(const std::string& name) {
  if (name.starts_with("[")) return "copies";
  if (name.find("pantograph::") != std::string::npos) return "ours";
  if (name.find("nccl") != std::string::npos) return "NCCL";
  if (name.find("cudnn") != std::string::npos || name.find("xmma_fprop") != std::string::npos) {
    return "cuDNN";
  }
  if (name.find("gemm") != std::string::npos || name.find("nvjet") != std::string::npos ||
      name.find("cublas") != std::string::npos) {
    return "cuBLAS";
  }
  return "cuDNN";  // what its engines compile at run time has names of many kinds
}

}  // namespace

KernelTable::KernelTable() {
  totals.clear();
  const auto enable =
      device::function<decltype(cuptiActivityEnable)>(GpuLibrary::kCupti, "cuptiActivityEnable");
  const auto callbacks = device::function<decltype(cuptiActivityRegisterCallbacks)>(
      GpuLibrary::kCupti, "cuptiActivityRegisterCallbacks");
  call("cuptiActivityRegisterCallbacks", callbacks(give_buffer, take_buffer));
  for (const CUpti_ActivityKind kind : kKinds) call("cuptiActivityEnable", enable(kind));
}

KernelTable::~KernelTable() {
  const auto disable =
      device::function<decltype(cuptiActivityDisable)>(GpuLibrary::kCupti, "cuptiActivityDisable");
  for (const CUpti_ActivityKind kind : kKinds) disable(kind);
}

Json KernelTable::finish(const std::function<void(const std::string&)>& say) {
  device::check(cudaDeviceSynchronize());
  const auto flush = device::function<decltype(cuptiActivityFlushAll)>(GpuLibrary::kCupti,
                                                                       "cuptiActivityFlushAll");
  call("cuptiActivityFlushAll", flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  const std::lock_guard lock(totals_mutex);
  std::vector<std::pair<std::string, Total>> sorted(totals.begin(), totals.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.milliseconds > b.second.milliseconds;
  });
  double all = 0;
  for (const auto& [name, total] : sorted) all += total.milliseconds;
  Json::Array rows;
  for (const auto& [name, total] : sorted) {
    const std::string plain = demangled(name), library = origin(plain);
    char line[64];
    std::snprintf(line, sizeof line, "%9.2f ms %5.1f %% %6lld  ", total.milliseconds,
                  100 * total.milliseconds / all, static_cast<long long>(total.launches));
    if (rows.size() < 25) say(join(line, library, "  ", plain.substr(0, 120)));
    rows.push_back(Json(Json::Object{{"name", Json(plain)},
                                     {"library", Json(library)},
                                     {"launches", Json(total.launches)},
                                     {"milliseconds", Json(total.milliseconds)}}));
  }
  return Json(std::move(rows));
}

}  // namespace pantograph::bench
