#include <cuda_runtime_api.h>

#include "device/check.h"
#include "device/library_names.h"
#include "device/runtime.h"

namespace pantograph::device {

const int kCudaMajor = CUDART_VERSION / 1000;

namespace {

constexpr int kOldestMajor = 8;

cudaStream_t native(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

std::string version_text(int version) {
  return join(version / 1000, ".", version % 1000 / 10);
}

int count() {
  int value = 0;
  if (cudaGetDeviceCount(&value) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return value;
}

Gpu describe(int index) {
  const CurrentDevice current({.kind = DeviceKind::kCuda, .index = index});
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index));
  Gpu gpu{.index = index,
          .name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount};
  check(cudaMemGetInfo(&gpu.free_bytes, &gpu.total_bytes));
  return gpu;
}

}  // namespace

bool has_cuda() {
  return true;
}

std::vector<Gpu> gpus() {
  std::vector<Gpu> found;
  for (int index = 0; index < count(); ++index) found.push_back(describe(index));
  return found;
}

Gpu require_gpu(int index) {
  if (index < 0 || index >= count()) {
    fail(ErrorKind::kNotFound, "there is no GPU ", index, ": ", runtime_description());
  }
  Gpu gpu = describe(index);
  if (gpu.major < kOldestMajor) {
    fail(ErrorKind::kUnsupported, "GPU ", index, " (", gpu.name, ") has compute capability ",
         gpu.major, ".", gpu.minor, "; ", kOldestMajor, ".0 is the oldest that is supported");
  }
  return gpu;
}

int compute_capability(int index) {
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return 10 * major + minor;
}

std::string runtime_description() {
  int driver = 0, value = 0;
  cudaDriverGetVersion(&driver);
  const std::string built = "CUDA " + version_text(CUDART_VERSION);
  if (driver == 0) return built + ", no NVIDIA driver";
  const cudaError_t status = cudaGetDeviceCount(&value);
  cudaGetLastError();
  const std::string versions = built + ", driver " + version_text(driver);
  if (status != cudaSuccess) return versions + ", " + cudaGetErrorString(status);
  return join(versions, ", ", value, value == 1 ? " GPU" : " GPUs");
}

CurrentDevice::CurrentDevice(const Device& device) {
  if (device.kind != DeviceKind::kCuda) return;
  check(cudaGetDevice(&before_));
  check(cudaSetDevice(device.index));
}

CurrentDevice::~CurrentDevice() {
  if (before_ >= 0) cudaSetDevice(before_);
}

void* allocate(std::size_t bytes) {
  void* pointer = nullptr;
  const cudaError_t status = cudaMalloc(&pointer, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status);
  return pointer;
}

void deallocate(void* pointer) noexcept {
  cudaFree(pointer);
}

void* allocate_pinned(std::size_t bytes) {
  void* pointer = nullptr;
  check(cudaMallocHost(&pointer, bytes));
  return pointer;
}

void deallocate_pinned(void* pointer) noexcept {
  cudaFreeHost(pointer);
}

void copy(void* target, const void* source, std::size_t bytes, void* stream) {
  if (bytes > 0) check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, native(stream)));
}

void clear(void* target, std::size_t bytes, void* stream) {
  if (bytes > 0) check(cudaMemsetAsync(target, 0, bytes, native(stream)));
}

void* create_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void destroy_stream(void* stream) noexcept {
  cudaStreamDestroy(native(stream));
}

void synchronize(void* stream) {
  check(cudaStreamSynchronize(native(stream)));
}

void synchronize_nothrow(void* stream) noexcept {
  cudaStreamSynchronize(native(stream));
}

void* create_event(bool timed) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming));
  return event;
}

void destroy_event(void* event) noexcept {
  cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

void record(void* event, void* stream) {
  check(cudaEventRecord(static_cast<cudaEvent_t>(event), native(stream)));
}

void wait(void* event) {
  check(cudaEventSynchronize(static_cast<cudaEvent_t>(event)));
}

void stream_wait(void* stream, void* event) {
  check(cudaStreamWaitEvent(native(stream), static_cast<cudaEvent_t>(event), 0));
}

double milliseconds(void* begin, void* end) {
  float elapsed = 0;
  check(cudaEventElapsedTime(&elapsed, static_cast<cudaEvent_t>(begin),
                             static_cast<cudaEvent_t>(end)));
  return elapsed;
}

}  // namespace pantograph::device
