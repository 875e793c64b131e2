// What the driver says of a GPU while something runs on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pantograph::bench {

// Asks NVML every few milliseconds from a thread of its own. Gives back all that the process had on
// the GPU when it is made, so that context and libraries count too.
class GpuMonitor {
 public:
  explicit GpuMonitor(int device);
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  // Bytes in use now and at most since the last reset, less what was in use when this was made.
  [[nodiscard]] std::size_t used_bytes() const;
  [[nodiscard]] std::size_t peak_bytes() const;
  void reset_peak();
  // SM clock in MHz, median of the samples since the last reset.
  [[nodiscard]] int clock() const;
  [[nodiscard]] std::string driver_version() const;

 private:
  struct Nvml;
  void sample();
  std::unique_ptr<Nvml> nvml_;
  std::size_t before_ = 0;
  mutable std::mutex mutex_;
  std::size_t peak_ = 0;
  std::vector<int> clocks_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace pantograph::bench
