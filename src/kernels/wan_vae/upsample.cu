// One block for each row of frames, its threads over columns and channels.
#include "kernels/common/vector.cuh"
#include "kernels/wan_vae/dispatch.cuh"
#include "kernels/wan_vae/launch.h"

namespace pantograph::kernels {
namespace {

constexpr int kThreads = 256;

// A source element is read once and written to its four places.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) nearest_kernel(NearestUpsample p) {
  const std::int64_t line = blockIdx.x;  // a row of a frame of x
  const std::int64_t frame = line / p.height, row = line % p.height;
  const int packs = static_cast<int>(p.channels / V);
  const int row_packs = static_cast<int>(p.width * p.copies) * packs;
  const T* x = static_cast<const T*>(p.x) + line * p.width * p.copies * p.channels;
  const std::int64_t out_row = 2 * p.width * p.channels;
  for (int i = static_cast<int>(threadIdx.x); i < row_packs; i += kThreads) {
    const int pack = i % packs, place = i / packs;  // place: (column, copy)
    const std::int64_t column = place / p.copies, copy = place % p.copies;
    const Pack<T, V> value = load_once<V>(x + std::int64_t{i} * V);
    T* y = static_cast<T*>(p.y) + ((frame * p.copies + copy) * 2 * p.height + 2 * row) * out_row +
           2 * column * p.channels + std::int64_t{pack} * V;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      store(y + k / 2 * out_row + k % 2 * p.channels, value);
    }
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads) split_kernel(NearestUpsample p) {
  const std::int64_t line = blockIdx.x;  // a row of a frame of x
  const std::int64_t frame = line / p.height, row = line % p.height;
  const int packs = static_cast<int>(p.channels / V);
  const int row_packs = static_cast<int>(p.width * p.copies) * packs;
  const T* x = static_cast<const T*>(p.x) + line * p.width * p.copies * p.channels;
  for (int i = static_cast<int>(threadIdx.x); i < row_packs; i += kThreads) {
    const int pack = i % packs, place = i / packs;  // place: (column, copy)
    const std::int64_t column = place / p.copies, copy = place % p.copies;
    T* y = static_cast<T*>(p.y) +
           (((frame * p.copies + copy) * p.height + row) * p.width + column) * p.channels;
    store(y + std::int64_t{pack} * V, load_once<V>(x + std::int64_t{i} * V));
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads) add_phase_kernel(AddPhase p) {
  const std::int64_t line = blockIdx.x;  // a row of a frame of x
  const std::int64_t frame = line / p.height, row = line % p.height;
  const int packs = static_cast<int>(p.channels / V);
  const T* x = static_cast<const T*>(p.x) + line * p.width * p.channels;
  T* y = static_cast<T*>(p.y) +
         ((frame * 2 * p.height + 2 * row + p.row) * 2 * p.width + p.column) * p.channels;
  for (int i = static_cast<int>(threadIdx.x); i < p.width * packs; i += kThreads) {
    T* target = y + std::int64_t{i / packs} * 2 * p.channels + std::int64_t{i % packs} * V;
    Floats<V> sum = to_floats(load_once<V>(static_cast<const T*>(target)));
    const Floats<V> values = to_floats(load_once<V>(x + std::int64_t{i} * V));
#pragma unroll
    for (int j = 0; j < V; ++j) sum.at[j] += values.at[j];
    store(target, round_to<T>(sum));
  }
}

// A thread makes V neighbouring channels of one position of y.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    duplicate_kernel(geometry::DuplicateUpsample shape, const T* x, T* y) {
  const std::int64_t line = blockIdx.x;  // a row of a frame of y
  const std::int64_t frame = line / (2 * shape.height), row = line % (2 * shape.height);
  const T* source =
      x + (shape.frame(frame) * shape.height + row / 2) * shape.width * shape.in_channels;
  T* target = y + line * 2 * shape.width * shape.out_channels;
  const int packs = static_cast<int>(shape.out_channels / V);
  // Where the number of channels stays or halves, neighbours in y are neighbours in x.
  const std::int64_t stride =
      shape.in_channels % shape.out_channels == 0 ? shape.in_channels / shape.out_channels : 0;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * shape.width * packs; i += kThreads) {
    const std::int64_t c = std::int64_t{i % packs} * V, column = i / packs;
    const T* in = source + column / 2 * shape.in_channels;
    Pack<T, V> value;
    if (V > 1 && stride == 1) {
      value = load<V>(in + c);
    } else if (V > 1 && stride == 2) {
      const std::int64_t first = shape.channel(frame, row, column, c) % 2;
      const Pack<T, V> low = load<V>(in + 2 * c), high = load<V>(in + 2 * c + V);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const Pack<T, V>& half = j < V / 2 ? low : high;
        const int at = 2 * j % V;
        value.at[j] = first == 0 ? half.at[at] : half.at[(at + 1) % V];
      }
    } else {
      for (int j = 0; j < V; ++j) value.at[j] = in[shape.channel(frame, row, column, c + j)];
    }
    store(target + std::int64_t{i} * V, value);
  }
}

template <typename T>
bool fits(std::int64_t channels) {
  return channels % kVectorWidth<T> == 0;
}

}  // namespace

cudaError_t nearest_upsample(const NearestUpsample& p, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(p.frames * p.height);
  if (blocks == 0) return cudaSuccess;
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    fits<T>(p.channels) ? nearest_kernel<T, kVectorWidth<T>><<<blocks, kThreads, 0, stream>>>(p)
                        : nearest_kernel<T, 1><<<blocks, kThreads, 0, stream>>>(p);
  });
}

cudaError_t split_frames(const NearestUpsample& p, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(p.frames * p.height);
  if (blocks == 0) return cudaSuccess;
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    fits<T>(p.channels) ? split_kernel<T, kVectorWidth<T>><<<blocks, kThreads, 0, stream>>>(p)
                        : split_kernel<T, 1><<<blocks, kThreads, 0, stream>>>(p);
  });
}

cudaError_t add_phase(const AddPhase& p, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(p.frames * p.height);
  if (blocks == 0) return cudaSuccess;
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    fits<T>(p.channels) ? add_phase_kernel<T, kVectorWidth<T>><<<blocks, kThreads, 0, stream>>>(p)
                        : add_phase_kernel<T, 1><<<blocks, kThreads, 0, stream>>>(p);
  });
}

cudaError_t duplicate_upsample(const geometry::DuplicateUpsample& shape, DType dtype, const void* x,
                               void* y, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(shape.out_frames() * 2 * shape.height);
  if (blocks == 0) return cudaSuccess;
  return with_activation_type(dtype, [&]<typename T>(T) {
    const auto* in = static_cast<const T*>(x);
    auto* out = static_cast<T*>(y);
    fits<T>(shape.out_channels) && fits<T>(shape.in_channels)
        ? duplicate_kernel<T, kVectorWidth<T>><<<blocks, kThreads, 0, stream>>>(shape, in, out)
        : duplicate_kernel<T, 1><<<blocks, kThreads, 0, stream>>>(shape, in, out);
  });
}

}  // namespace pantograph::kernels
