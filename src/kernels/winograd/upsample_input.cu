#include "kernels/winograd/input_ring.cuh"
#include "kernels/winograd/range.cuh"
#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/upsample.h"

namespace pantograph::kernels {
namespace {

template <int kChannels>  // of an element
struct Way {
  static constexpr int kInputs = geometry::WinogradUpsample::kInputs;
  static constexpr int kChannelsOfElement = kChannels, kBuffers = 4, kBlocks = 6 / kChannels;
  Tiling tiling;
  std::int32_t copies, elements;  // of a pixel of a copy
  F16Range range;

  __device__ float scale() const { return scale_for(range); }
  __device__ PixelsAt pixels(std::int32_t row, std::int32_t element) const {
    PixelsAt at = tiling.pixels(row, element);
    at.channel += at.frame % copies * elements;
    at.frame /= copies;
    --at.row, --at.column;  // the halo
    return at;
  }
  static __device__ void transform(const float (&d)[kInputs], float (&v)[kInputs]) {
    multiply<to_floats(geometry::kWinogradUpsample.input)>(d, v);
  }
};

template <int kChannels>
cudaError_t run(const UpsampleInput& p, cudaStream_t stream) {
  const std::int64_t rows = p.frames * p.tiles.per_frame();
  const std::int64_t elements = p.channels / kChannels, chunks = elements / kElementsOfBox;
  InputArguments<Way<kChannels>> arguments{};
  cudaError_t status = map_pixels(arguments.x, p.x, p.frames / p.copies, p.tiles,
                                  p.copies * p.channels, Way<kChannels>::kInputs, kChannels);
  if (status == cudaSuccess) {
    status = map_components(arguments.v, p.v, p.tiles.components(), rows, p.channels, kChannels);
  }
  if (status != cudaSuccess) return status;
  arguments.way.tiling = tiling(p.tiles);
  arguments.way.copies = static_cast<std::int32_t>(p.copies);
  arguments.way.elements = static_cast<std::int32_t>(elements);
  arguments.way.range = p.range;
  arguments.chunks = static_cast<std::int32_t>(chunks);
  arguments.parts = rows * chunks;
  return launch_input_ring(arguments, stream);
}

}  // namespace

cudaError_t upsample_input(const UpsampleInput& p, cudaStream_t stream) {
  if (p.frames * p.tiles.per_frame() == 0) return cudaSuccess;
  return p.channels % (2 * kElementsOfBox) == 0 ? run<2>(p, stream) : run<1>(p, stream);
}

}  // namespace pantograph::kernels
