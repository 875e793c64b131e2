#include "kernels/winograd/input_ring.cuh"
#include "kernels/winograd/range.cuh"
#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/upsample.h"

namespace pantograph::kernels {
namespace {

struct Way {
  static constexpr int kInputs = geometry::WinogradUpsample::kInputs, kBlocks = 8;
  Tiling tiling;
  std::int32_t copies, channels;
  F16Range range;

  __device__ float scale() const { return scale_for(range); }
  __device__ PixelsAt pixels(std::int32_t row, std::int32_t channel) const {
    PixelsAt at = tiling.pixels(row, channel);
    at.channel += at.frame % copies * channels;
    at.frame /= copies;
    --at.row, --at.column;  // the halo
    return at;
  }
  static __device__ void transform(const float (&d)[kInputs], float (&v)[kInputs]) {
    multiply<to_floats(geometry::kWinogradUpsample.input)>(d, v);
  }
};

}  // namespace

cudaError_t upsample_input(const UpsampleInput& p, cudaStream_t stream) {
  const std::int64_t rows = p.frames * p.tiles.per_frame(), chunks = p.channels / kChannelsOfBox;
  if (rows == 0) return cudaSuccess;
  InputArguments<Way> arguments{};
  cudaError_t status = map_pixels(arguments.x, p.x, p.frames / p.copies, p.tiles,
                                  p.copies * p.channels, Way::kInputs);
  if (status == cudaSuccess) {
    status = map_components(arguments.v, p.v, p.tiles.components(), rows, p.channels);
  }
  if (status != cudaSuccess) return status;
  arguments.way = {.tiling = tiling(p.tiles),
                   .copies = static_cast<std::int32_t>(p.copies),
                   .channels = static_cast<std::int32_t>(p.channels),
                   .range = p.range};
  arguments.chunks = static_cast<std::int32_t>(chunks);
  arguments.parts = rows * chunks;
  return launch_input_ring(arguments, stream);
}

}  // namespace pantograph::kernels
