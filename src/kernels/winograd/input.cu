#include "kernels/winograd/input_ring.cuh"
#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/winograd.h"

namespace pantograph::kernels {
namespace {

template <int kSize>
struct Way {
  static constexpr int kInputs = kSize + 2, kChannelsOfElement = 1;
  static constexpr int kBuffers = 3, kBlocks = kSize == 2 ? 8 : 2;
  Tiling tiling;

  static __device__ float scale() { return 1; }
  __device__ PixelsAt pixels(std::int32_t row, std::int32_t element) const {
    PixelsAt at = tiling.pixels(row, element);
    --at.row, --at.column;  // the halo
    return at;
  }
  static __device__ void transform(const float (&d)[kInputs], float (&v)[kInputs]) {
    transform_input<kSize>(d, v);
  }
};

template <int kSize>
cudaError_t run(const WinogradInput& p, cudaStream_t stream) {
  const std::int64_t rows = p.frames * p.tiles.per_frame(), chunks = p.channels / kChannelsOfBox;
  InputArguments<Way<kSize>> arguments{};
  arguments.way.tiling = tiling(p.tiles);
  arguments.chunks = static_cast<std::int32_t>(chunks);
  arguments.parts = rows * chunks;
  cudaError_t status =
      map_pixels(arguments.x, p.x, p.frames, p.tiles, p.channels, p.tiles.size + 2);
  if (status == cudaSuccess) {
    status = map_components(arguments.v, p.v, p.tiles.components(), rows, p.channels);
  }
  return status == cudaSuccess ? launch_input_ring(arguments, stream) : status;
}

}  // namespace

cudaError_t winograd_input(const WinogradInput& p, cudaStream_t stream) {
  if (p.frames * p.tiles.per_frame() == 0) return cudaSuccess;
  const auto run_size = [&]<std::size_t kSize>(const geometry::Winograd<kSize, 3>&) {
    return run<kSize>(p, stream);
  };
  return geometry::with_winograd(p.tiles.size, run_size);
}

}  // namespace pantograph::kernels
