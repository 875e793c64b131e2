#include "kernels/hopper/tensor_map.h"

#include <algorithm>
#include <array>

namespace pantograph::kernels {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's function: nothing links the driver.
cudaError_t find_encode(Encode& encode) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                              12000, cudaEnableDefault, &result);
  if (status != cudaSuccess) return status;
  if (result != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
  encode = reinterpret_cast<Encode>(function);
  return cudaSuccess;
}

cudaError_t find_type(DType dtype, CUtensorMapDataType& type) {
  switch (dtype) {
    case DType::kBF16:
      type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
      return cudaSuccess;
    case DType::kF16:
      type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
      return cudaSuccess;
    case DType::kI32:
      type = CU_TENSOR_MAP_DATA_TYPE_INT32;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t make_tensor_map(CUtensorMap& map, DType dtype, const void* data,
                            std::span<const std::int64_t> sizes, std::span<const std::uint32_t> box,
                            Swizzle swizzle) {
  static Encode encode = nullptr;
  static const cudaError_t found = find_encode(encode);
  if (found != cudaSuccess) return found;
  constexpr std::size_t kMostDimensions = 5;
  CUtensorMapDataType type{};
  const cudaError_t status = find_type(dtype, type);
  if (status != cudaSuccess) return status;
  if (sizes.size() > kMostDimensions || box.size() != sizes.size()) return cudaErrorInvalidValue;
  std::array<cuuint64_t, kMostDimensions> dimensions{}, strides{};
  std::array<cuuint32_t, kMostDimensions> steps{};
  steps.fill(1);
  cuuint64_t stride = size_of(dtype);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    dimensions[i] = static_cast<cuuint64_t>(sizes[i]);
    stride *= dimensions[i];
    strides[i] = stride;  // of the next dimension
  }
  const CUresult result = encode(
      &map, type, static_cast<cuuint32_t>(sizes.size()), const_cast<void*>(data), dimensions.data(),
      strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle == Swizzle::kBanks ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace pantograph::kernels
