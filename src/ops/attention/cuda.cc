#include <algorithm>
#include <cmath>

#include "device/check.h"
#include "device/cublas_lt.h"
#include "kernels/wan_vae/launch.h"
#include "ops/cuda.h"

namespace pantograph::ops::cuda {

// One frame and one block of queries at a time: scores in f32, their softmax in the activations'
// type.
void frame_attention(const Context& context, const FramesView& qkv, const FramesView& y) {
  const std::int64_t channels = y.channels, positions = y.height * y.width, row = 3 * channels;
  const std::int64_t block = std::min(kQueryBlock, positions);
  const std::size_t element = size_of(y.dtype);
  const Arena::Block scores =
      context.arena->take(static_cast<std::size_t>(block * positions) * sizeof(float));
  const Arena::Block weights =
      context.arena->take(static_cast<std::size_t>(block * positions) * element);
  const Arena::Block workspace = context.arena->take(device::kCublasWorkspace);
  if (context.planning) return;
  for (std::int64_t frame = 0; frame < y.frames; ++frame) {
    context.stop_if_cancelled();
    const std::byte* q = qkv.slice(frame, 1).data;
    const std::byte* k = q + static_cast<std::size_t>(channels) * element;
    const std::byte* v = k + static_cast<std::size_t>(channels) * element;
    for (std::int64_t begin = 0; begin < positions; begin += block) {
      const std::int64_t queries = std::min(block, positions - begin);
      device::multiply({.rows = queries,
                        .columns = positions,
                        .depth = channels,
                        .operands = y.dtype,
                        .result = DType::kF32,
                        .a = q + static_cast<std::size_t>(begin * row) * element,
                        .a_stride = row,
                        .b = k,
                        .b_stride = row,
                        .b_transposed = true,
                        .c = scores.data(),
                        .c_stride = positions},
                       workspace.data(), context.stream);
      device::check(kernels::softmax({.dtype = y.dtype,
                                      .rows = queries,
                                      .columns = positions,
                                      .scale = 1.0F / std::sqrt(static_cast<float>(channels)),
                                      .s = reinterpret_cast<const float*>(scores.data()),
                                      .p = weights.data()},
                                     static_cast<cudaStream_t>(context.stream)));
      device::multiply(
          {.rows = queries,
           .columns = channels,
           .depth = positions,
           .operands = y.dtype,
           .result = y.dtype,
           .a = weights.data(),
           .a_stride = positions,
           .b = v,
           .b_stride = row,
           .c = y.slice(frame, 1).data + static_cast<std::size_t>(begin * channels) * element,
           .c_stride = channels},
          workspace.data(), context.stream);
    }
  }
}

}  // namespace pantograph::ops::cuda
