// Turns a CUDA error into an Error that says where it happened.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

#include "core/check.h"

namespace pantograph::device {

inline void check(cudaError_t status,
                  std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next launch would report it again
  fail(status == cudaErrorMemoryAllocation ? ErrorKind::kOutOfMemory : ErrorKind::kInternal,
       "CUDA: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ") in ",
       where.function_name());
}

}  // namespace pantograph::device
