#include <cuda_runtime_api.h>

#include "core/convert.h"
#include "core/parallel.h"
#include "device/check.h"
#include "ops/conv3d/cuda.h"

namespace pantograph::ops {
namespace {

// [out, in, taps] to [out, taps, in] in `dtype`.
std::vector<std::byte> channels_last(const Conv3dWeights& weights, DType dtype) {
  const std::int64_t in = weights.in_channels(), out = weights.out_channels();
  const std::int64_t elements = weights.weight().elements(), taps = elements / (in * out);
  std::vector<std::byte> packed(static_cast<std::size_t>(elements) * size_of(dtype));
  parallel_for(out, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> filter(static_cast<std::size_t>(taps * in));
    for (std::int64_t o = begin; o < end; ++o) {
      const std::vector<float> source = weights.weight().row_to_f32(o);
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        for (std::int64_t i = 0; i < in; ++i) {
          filter[static_cast<std::size_t>(tap * in + i)] =
              source[static_cast<std::size_t>(i * taps + tap)];
        }
      }
      const std::size_t bytes = filter.size() * size_of(dtype);
      convert_from_f32(filter.data(), dtype, packed.data() + static_cast<std::size_t>(o) * bytes,
                       taps * in);
    }
  });
  return packed;
}

auto is_of(DType dtype) {
  return [=](const CudaWeights& pack) { return pack.dtype == dtype; };
}

}  // namespace

Device current_gpu() {
  Device device{.kind = DeviceKind::kCuda};
  device::check(cudaGetDevice(&device.index));
  return device;
}

std::int64_t padded_channels(std::int64_t channels) {
  return (channels + 7) / 8 * 8;
}

std::size_t cuda_weight_bytes(const Conv3dWeights& weights, DType dtype) {
  const std::int64_t out = weights.out_channels(), padded = padded_channels(out);
  return static_cast<std::size_t>(weights.weight().elements() / out * padded) * size_of(dtype) +
         static_cast<std::size_t>(padded) * sizeof(float);
}

StoredOnGpu stored_on_gpu(const Device& device, const Weight& weight) {
  const TensorView* stored = weight.stored();
  if (stored == nullptr) return {DType::kF32, on_gpu(device, weight.to_f32())};
  StoredOnGpu copy{stored->dtype,
                   device::Memory(device, stored->bytes(), {}, nullptr, device::Fill::kNone)};
  device::copy(copy.values.data(), stored->data, stored->bytes(), nullptr);
  return copy;
}

std::size_t cuda_bytes_to_pack(const Conv3dWeights& weights, DType dtype) {
  return is_packed_on_gpu<CudaWeights>(weights, is_of(dtype)) ? 0
                                                              : cuda_weight_bytes(weights, dtype);
}

std::shared_ptr<const CudaWeights> cuda_weights(const Conv3dWeights& weights, DType dtype) {
  return packed_on_gpu<CudaWeights>(weights, is_of(dtype), [&](CudaWeights& pack) {
    pack.dtype = dtype;
    const std::vector<std::byte> values = channels_last(weights, dtype);
    const std::int64_t out = weights.out_channels(), padded = padded_channels(out);
    const std::size_t row = values.size() / static_cast<std::size_t>(out);
    pack.weights = device::Memory(pack.device, row * static_cast<std::size_t>(padded));
    pack.bias = device::Memory(pack.device, static_cast<std::size_t>(padded) * sizeof(float));
    device::copy(pack.weights.data(), values.data(), values.size(), nullptr);
    device::copy(pack.bias.data(), weights.bias().data(), weights.bias().size() * sizeof(float),
                 nullptr);
  });
}

}  // namespace pantograph::ops
