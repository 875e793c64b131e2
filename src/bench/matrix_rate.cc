#include "bench/matrix_rate.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <span>
#include <vector>

#include "device/check.h"
#include "device/cublas_lt.h"
#include "device/memory.h"
#include "device/timing.h"
#include "kernels/wan_vae/compare.h"

namespace pantograph::bench {
namespace {

constexpr std::int64_t kSize = 8192;

// From the median of some products' milliseconds.
double rate(std::span<double> times) {
  std::sort(times.begin(), times.end());
  return 2.0 * kSize * kSize * kSize / (times[times.size() / 2] * 1e-3);
}

}  // namespace

MatrixRate matrix_rate() {
  constexpr int kProducts = 600;  // some 0.9 s on an H200
  Device device{.kind = DeviceKind::kCuda};
  device::check(cudaGetDevice(&device.index));
  const std::size_t bytes = kSize * kSize * size_of(DType::kBF16);
  const device::Memory a(device, bytes), b(device, bytes), c(device, bytes);
  const device::Memory workspace(device, device::kCublasWorkspace);
  const device::Stream stream(device::create_stream());
  auto* native = static_cast<cudaStream_t>(stream.get());
  device::synchronize(nullptr);  // the memory's clearing
  device::check(kernels::fill_random(DType::kBF16, a.data(), kSize * kSize, 1, native));
  device::check(kernels::fill_random(DType::kBF16, b.data(), kSize * kSize, 2, native));
  std::vector<double> times = device::time_each(kProducts, stream.get(), [&] {
    device::multiply({.rows = kSize,
                      .columns = kSize,
                      .depth = kSize,
                      .operands = DType::kBF16,
                      .result = DType::kBF16,
                      .a = a.data(),
                      .a_stride = kSize,
                      .b = b.data(),
                      .b_stride = kSize,
                      .b_transposed = true,
                      .c = c.data(),
                      .c_stride = kSize},
                     workspace.data(), stream.get());
  });
  const std::span<double> all = times;
  return {.burst = rate(all.subspan(5, 20)), .sustained = rate(all.last(200))};
}

}  // namespace pantograph::bench
