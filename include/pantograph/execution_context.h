// Where work runs and whose memory it uses.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "pantograph/tensor_view.h"

namespace pantograph {

// Callbacks through which a session takes and returns its memory. Both empty: the library's own.
struct Allocator {
  // At least `bytes` bytes on the context's device, aligned to 256; nullptr when there are none.
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void* pointer, std::size_t bytes)> deallocate;
};

struct ExecutionContext {
  Device device{};
  void* stream = nullptr;  // opaque: a cudaStream_t on a GPU, unused on a CPU
  Allocator allocator{};
  int threads = 0;  // CPU threads; 0 takes one per core this process may use
};

// How the convolutions that take most of a decode's time are computed. What comes out is the same
// up to rounding.
enum class Algorithm {
  kAuto,     // fast where it can be, and what says which is the log at level info
  kFast,     // by fewer products: in bf16, on Hopper; else Error(kUnsupported) says why not
  kGeneral,  // by what any device has
};

// A flag that stops work from another thread or from a signal handler. Copies share the flag.
class CancelToken {
 public:
  void cancel() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const noexcept { return flag_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace pantograph
