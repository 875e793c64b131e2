#include <cuda_runtime_api.h>

#include "core/convert.h"
#include "core/parallel.h"
#include "device/check.h"
#include "ops/conv3d/cuda.h"

namespace pantograph::ops {
namespace {

// [out, in, taps] to [out, taps, in] in `dtype`.
std::vector<std::byte> channels_last(const Conv3dWeights& weights, DType dtype) {
  const std::vector<float> values = weights.weight().to_f32();
  const std::int64_t in = weights.in_channels(), out = weights.out_channels();
  const std::int64_t taps = weights.weight().elements() / (in * out);
  std::vector<std::byte> packed(values.size() * size_of(dtype));
  parallel_for(out, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> filter(static_cast<std::size_t>(taps * in));
    for (std::int64_t o = begin; o < end; ++o) {
      const float* source = values.data() + o * in * taps;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        for (std::int64_t i = 0; i < in; ++i) {
          filter[static_cast<std::size_t>(tap * in + i)] = source[i * taps + tap];
        }
      }
      const std::size_t bytes = filter.size() * size_of(dtype);
      convert_from_f32(filter.data(), dtype, packed.data() + static_cast<std::size_t>(o) * bytes,
                       taps * in);
    }
  });
  return packed;
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

std::shared_ptr<const CudaWeights> cuda_weights(const Conv3dWeights& weights, DType dtype) {
  const Device device = current_gpu();
  return std::static_pointer_cast<const CudaWeights>(weights.packed(
      [&](const PackedWeights& candidate) {
        const auto* packed = dynamic_cast<const CudaWeights*>(&candidate);
        return packed != nullptr && packed->device == device && packed->dtype == dtype;
      },
      [&] {
        auto packed = std::make_shared<CudaWeights>();
        packed->device = device;
        packed->dtype = dtype;
        const std::vector<std::byte> values = channels_last(weights, dtype);
        const std::int64_t out = weights.out_channels(), padded = padded_channels(out);
        const std::size_t row = values.size() / static_cast<std::size_t>(out);
        packed->weights = device::Memory(device, row * static_cast<std::size_t>(padded));
        packed->bias = device::Memory(device, static_cast<std::size_t>(padded) * sizeof(float));
        device::copy(packed->weights.data(), values.data(), values.size(), nullptr);
        device::copy(packed->bias.data(), weights.bias().data(),
                     weights.bias().size() * sizeof(float), nullptr);
        device::synchronize(nullptr);  // other streams read them from now on
        weights.weight().release_pages();
        return packed;
      }));
}

}  // namespace pantograph::ops
