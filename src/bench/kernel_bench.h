// How fast the kernels of the fast decode are alone: the program behind `pantograph bench kernels`.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/json.h"
#include "pantograph/tensor_view.h"

namespace pantograph::bench {

struct KernelBench {
  Device device{.kind = DeviceKind::kCuda};
};

// `say` gets lines for a person while it goes on. Throws Error; kUnsupported where the GPU is not
// of Hopper's generation.
Json run(const KernelBench& options, const std::function<void(const std::string&)>& say);

}  // namespace pantograph::bench
