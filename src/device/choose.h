// A device by the name a user gives it.
#pragma once

#include <string>

#include "pantograph/tensor_view.h"

namespace pantograph::device {

struct Choice {
  Device device;
  std::string description;  // "GPU 0 (NVIDIA H200, 139.2 GiB free)"
};

// "cpu", "cuda" (the GPU with the most free memory), "cuda:N", or "auto": a GPU where there is one
// that serves, else the CPU. Throws Error: kInvalidArgument for another name, kNotFound,
// kUnsupported.
Choice choose(const std::string& name);

}  // namespace pantograph::device
