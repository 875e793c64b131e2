#pragma once

#include <vector>

#include "device/memory.h"
#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// 3 x 3 in space by fewer products, for bf16 on Hopper.
const Conv3dImplementation& winograd_conv3d();
// 1 x 1 in space, or 3 x 3 to or from a few channels, for bf16 on Hopper.
const Conv3dImplementation& hopper_gemm_conv3d();
// bf16 convolution by cuDNN's graph API, of which each engine is checked before it is used.
const Conv3dImplementation& cudnn_conv3d();
// bf16 convolution by cuDNN from 3 x 3 to a few channels, which it does better in two steps.
const Conv3dImplementation& cudnn_by_taps_conv3d();
// Our own kernel in plain f32 arithmetic: the f32 path, the oracle and the last resort.
const Conv3dImplementation& cuda_direct_conv3d();

// Output channels as the weights on a GPU have them: a multiple of 8, because tensor cores take
// 16-byte rows. The additional ones are zero.
std::int64_t padded_channels(std::int64_t channels);

struct GpuPack : PackedWeights {
  Device device;
};
// One convolution's weights on a GPU, [padded out, kt, kh, kw, in] in `dtype`, and its bias,
// [padded out] in f32.
struct CudaWeights final : GpuPack {
  DType dtype = DType::kF32;
  device::Memory weights, bias;
};
// The largest number of f16, less what rounding a product's factors may add.
inline constexpr double kSafeF16 = 65504 / 1.01;

// The GPU that is current.
Device current_gpu();
// A copy on it, ordered in the default stream.
template <typename T>
device::Memory on_gpu(const Device& device, const std::vector<T>& values) {
  device::Memory copy(device, values.size() * sizeof(T), {}, nullptr, device::Fill::kNone);
  device::copy(copy.data(), values.data(), copy.bytes(), nullptr);
  return copy;
}

// As they are stored or, where something is merged into them, in f32.
struct StoredOnGpu {
  DType dtype = DType::kF32;
  device::Memory values;
};
StoredOnGpu stored_on_gpu(const Device& device, const Weight& weight);

// Whether packed weights are a Pack on the device that `accepts`.
template <typename Pack, typename Accepts>
auto is_pack_on(const Device& device, const Accepts& accepts) {
  return [=](const PackedWeights& candidate) {
    const auto* pack = dynamic_cast<const Pack*>(&candidate);
    return pack != nullptr && pack->device == device && accepts(*pack);
  };
}
// For layouts of which there is one.
inline constexpr auto kAnyPack = [](const PackedWeights&) { return true; };

// The weights' Pack on the current GPU that `accepts`, or one that fill(pack) makes there. The file
// is not read again.
template <typename Pack, typename Accepts, typename Fill>
std::shared_ptr<const Pack> packed_on_gpu(const Conv3dWeights& weights, const Accepts& accepts,
                                          const Fill& fill) {
  const Device device = current_gpu();
  return std::static_pointer_cast<const Pack>(
      weights.packed(is_pack_on<Pack>(device, accepts), [&] {
        auto pack = std::make_shared<Pack>();
        pack->device = device;
        fill(*pack);
        device::synchronize(nullptr);  // other streams read it from now on
        weights.weight().release_pages();
        return pack;
      }));
}

// Whether it is there already.
template <typename Pack, typename Accepts>
bool is_packed_on_gpu(const Conv3dWeights& weights, const Accepts& accepts) {
  return weights.has_packed(is_pack_on<Pack>(current_gpu(), accepts));
}

// Of a CudaWeights; the second only where the current GPU has none yet.
std::size_t cuda_weight_bytes(const Conv3dWeights& weights, DType dtype);
std::size_t cuda_bytes_to_pack(const Conv3dWeights& weights, DType dtype);
// Those on the current device, copied there at the first call.
std::shared_ptr<const CudaWeights> cuda_weights(const Conv3dWeights& weights, DType dtype);

}  // namespace pantograph::ops
