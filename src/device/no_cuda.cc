#include "core/check.h"
#include "device/library_names.h"
#include "device/runtime.h"

namespace pantograph::device {

const int kCudaMajor = 0;

namespace {

[[noreturn]] void no_cuda() {
  fail(ErrorKind::kUnsupported,
       "this build has no GPU code; build it where a CUDA toolkit 12.6 or later is installed");
}

}  // namespace

bool has_cuda() {
  return false;
}
std::vector<Gpu> gpus() {
  return {};
}
Gpu require_gpu(int /*index*/) {
  no_cuda();
}
int compute_capability(int /*index*/) {
  return 0;
}
std::string runtime_description() {
  return "not in this build";
}
CurrentDevice::CurrentDevice(const Device& device) {
  if (device.kind == DeviceKind::kCuda) no_cuda();
}
CurrentDevice::~CurrentDevice() = default;
void* allocate(std::size_t /*bytes*/) {
  no_cuda();
}
void deallocate(void* /*pointer*/) noexcept {}
void* allocate_pinned(std::size_t /*bytes*/) {
  no_cuda();
}
void deallocate_pinned(void* /*pointer*/) noexcept {}
void copy(void* /*target*/, const void* /*source*/, std::size_t /*bytes*/, void* /*stream*/) {
  no_cuda();
}
void clear(void* /*target*/, std::size_t /*bytes*/, void* /*stream*/) {
  no_cuda();
}
void* create_stream() {
  no_cuda();
}
void destroy_stream(void* /*stream*/) noexcept {}
void synchronize(void* /*stream*/) {
  no_cuda();
}
void synchronize_nothrow(void* /*stream*/) noexcept {}
void* create_event(bool /*timed*/) {
  no_cuda();
}
void destroy_event(void* /*event*/) noexcept {}
void record(void* /*event*/, void* /*stream*/) {
  no_cuda();
}
void wait(void* /*event*/) {
  no_cuda();
}
void stream_wait(void* /*stream*/, void* /*event*/) {
  no_cuda();
}
double milliseconds(void* /*begin*/, void* /*end*/) {
  no_cuda();
}

}  // namespace pantograph::device
