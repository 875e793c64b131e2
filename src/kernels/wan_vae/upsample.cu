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

// A thread's places in a row of pixels, V neighbouring channels each, as all threads of a block
// share them out.
template <int V>
struct PlacesInRow {
  __device__ explicit PlacesInRow(std::int64_t channels)
      : packs(static_cast<int>(channels / V)),
        column(static_cast<int>(threadIdx.x) / packs),
        pack(static_cast<int>(threadIdx.x) % packs),
        columns_a_step(kThreads / packs),
        packs_a_step(kThreads % packs) {}
  __device__ void step() {
    column += columns_a_step;
    pack += packs_a_step;
    if (pack >= packs) pack -= packs, ++column;
  }
  int packs, column, pack, columns_a_step, packs_a_step;
};

// A row of a frame of what DuplicateUpsample makes of x.
template <typename T, int V>
class DuplicatedRow {
 public:
  __device__ DuplicatedRow(const geometry::DuplicateUpsample& shape, const T* x, std::int64_t frame,
                           std::int64_t row)
      : shape_(shape),
        frame_(frame),
        row_(row),
        // Where the number of channels stays or halves, neighbours in y are neighbours in x, or
        // every second of them, from the same on in all columns.
        stride_(shape.in_channels % shape.out_channels == 0 ? shape.in_channels / shape.out_channels
                                                            : 0),
        second_(shape.channel(frame, row, 0, 0) % 2 != 0),
        source_(x +
                (shape.frame(frame) * shape.height + row / 2) * shape.width * shape.in_channels) {}

  // V neighbouring channels.
  __device__ Pack<T, V> at(int column, std::int64_t c) const {
    const T* in = source_ + column / 2 * shape_.in_channels;
    if (V > 1 && stride_ == 1) return load<V>(in + c);
    Pack<T, V> value;
    if (V > 1 && stride_ == 2) {
      const Pack<T, V> low = load<V>(in + 2 * c), high = load<V>(in + 2 * c + V);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const Pack<T, V>& half = j < V / 2 ? low : high;
        const int at = 2 * j % V;
        value.at[j] = second_ ? half.at[(at + 1) % V] : half.at[at];
      }
    } else {
      for (int j = 0; j < V; ++j) value.at[j] = in[shape_.channel(frame_, row_, column, c + j)];
    }
    return value;
  }

 private:
  const geometry::DuplicateUpsample& shape_;
  const std::int64_t frame_, row_, stride_;
  const bool second_;
  const T* source_;
};

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    duplicate_kernel(geometry::DuplicateUpsample shape, const T* x, T* y) {
  const std::int64_t line = blockIdx.x;  // a row of a frame of y
  const std::int64_t frame = line / (2 * shape.height), row = line % (2 * shape.height);
  const DuplicatedRow<T, V> duplicated(shape, x, frame, row);
  T* target = y + line * 2 * shape.width * shape.out_channels;
  for (PlacesInRow<V> at(shape.out_channels); at.column < 2 * shape.width; at.step()) {
    const std::int64_t c = std::int64_t{at.pack} * V;
    store(target + at.column * shape.out_channels + c, duplicated.at(at.column, c));
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads) join_kernel(JoinColumns p) {
  const geometry::DuplicateUpsample& shape = p.duplicate;
  const std::int64_t line = blockIdx.x;  // a row of a frame of what is joined
  const std::int64_t frame = line / shape.height, row = 2 * (line % shape.height) + p.row;
  const DuplicatedRow<T, V> duplicated(shape, static_cast<const T*>(p.x), frame, row);
  const std::int64_t half = shape.width * shape.out_channels;
  const T* even = static_cast<const T*>(p.even) + line * half;
  const T* odd = static_cast<const T*>(p.odd) + line * half;
  T* target = static_cast<T*>(p.y) + (frame * 2 * shape.height + row) * 2 * half;
  for (PlacesInRow<V> at(shape.out_channels); at.column < 2 * shape.width; at.step()) {
    const std::int64_t c = std::int64_t{at.pack} * V;
    const T* source = (at.column % 2 == 0 ? even : odd) + at.column / 2 * shape.out_channels + c;
    Floats<V> sum = to_floats(load_once<V>(source));
    const Floats<V> values = to_floats(duplicated.at(at.column, c));
#pragma unroll
    for (int j = 0; j < V; ++j) sum.at[j] += values.at[j];
    store(target + at.column * shape.out_channels + c, round_to<T>(sum));
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

cudaError_t join_columns(const JoinColumns& p, cudaStream_t stream) {
  const geometry::DuplicateUpsample& shape = p.duplicate;
  const auto blocks = static_cast<unsigned>(shape.out_frames() * shape.height);
  if (blocks == 0) return cudaSuccess;
  return with_activation_type(p.dtype, [&]<typename T>(T) {
    fits<T>(shape.out_channels) && fits<T>(shape.in_channels)
        ? join_kernel<T, kVectorWidth<T>><<<blocks, kThreads, 0, stream>>>(p)
        : join_kernel<T, 1><<<blocks, kThreads, 0, stream>>>(p);
  });
}

}  // namespace pantograph::kernels
