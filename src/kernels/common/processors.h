#pragma once

#include <cuda_runtime_api.h>

namespace pantograph::kernels {

// Multiprocessors of the current GPU.
inline cudaError_t count_processors(int& processors) {
  int device = 0;
  const cudaError_t status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
}

}  // namespace pantograph::kernels
