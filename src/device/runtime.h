// The few things asked of a GPU's runtime. cuda.cc answers them, or no_cuda.cc in a build without
// CUDA, where there are no GPUs and everything else throws Error(kUnsupported).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pantograph/tensor_view.h"

namespace pantograph::device {

struct Gpu {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::size_t total_bytes = 0, free_bytes = 0;
};

bool has_cuda();  // whether this build has GPU code

// Those the driver shows; empty where there is no GPU, no driver or no CUDA in this build.
std::vector<Gpu> gpus();
// Throws Error: kNotFound where there is no such GPU, kUnsupported where it is older than sm_80.
Gpu require_gpu(int index);
// 90 for compute capability 9.0, 0 where there is no such GPU; quick.
int compute_capability(int index);
// "CUDA 13.0, driver 13.0", or why there are no GPUs.
std::string runtime_description();

// Makes a GPU the calling thread's current one, for its lifetime; does nothing for a CPU.
class CurrentDevice {
 public:
  explicit CurrentDevice(const Device& device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = -1;  // -1: nothing to restore
};

// All below work on the current device. Sizes are bytes; streams and events are the runtime's own.
void* allocate(std::size_t bytes);  // nullptr where there is not enough
void deallocate(void* pointer) noexcept;
void* allocate_pinned(std::size_t bytes);
void deallocate_pinned(void* pointer) noexcept;

// Stream-ordered. Either pointer of a copy may be of the host.
void copy(void* target, const void* source, std::size_t bytes, void* stream);
void clear(void* target, std::size_t bytes, void* stream);

void* create_stream();
void destroy_stream(void* stream) noexcept;
void synchronize(void* stream);
void synchronize_nothrow(void* stream) noexcept;

void* create_event(bool timed = false);
void destroy_event(void* event) noexcept;
void record(void* event, void* stream);
void wait(void* event);                       // the calling thread
void stream_wait(void* stream, void* event);  // the stream
double milliseconds(void* begin, void* end);  // between two timed events that have happened

}  // namespace pantograph::device
