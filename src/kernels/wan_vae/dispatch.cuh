// From a runtime dtype to a type.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <utility>

#include "pantograph/tensor_view.h"

namespace pantograph::kernels {

// Calls launch(T{}) for the type of activations and tells whether the launch was accepted.
template <typename Launch>
cudaError_t with_activation_type(DType dtype, Launch&& launch) {
  switch (dtype) {
    case DType::kF32:
      std::forward<Launch>(launch)(float{});
      break;
    case DType::kBF16:
      std::forward<Launch>(launch)(__nv_bfloat16{});
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

}  // namespace pantograph::kernels
