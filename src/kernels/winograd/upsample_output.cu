#include "kernels/winograd/output_tiles.cuh"
#include "kernels/winograd/range.cuh"
#include "kernels/winograd/transform.cuh"
#include "kernels/winograd/upsample.h"

namespace pantograph::kernels {
namespace {

// kPairs: the shortcut has twice as many channels as y, of which each pixel takes one of two.
template <bool kPairs>
struct Way {
  static constexpr int kSize = geometry::WinogradUpsample::kOutputs;
  static constexpr int kInputs = geometry::WinogradUpsample::kProducts;
  static constexpr int kSide = kSize / 2, kSources = kSide * kSide;  // pixels of the shortcut
  static constexpr int kBoxes = kPairs ? 2 : 1;  // of the shortcut, for the channels of one of y
  static constexpr int kAddedBytes = kBoxes * kSources * kChannelsOfBox * 2;
  CUtensorMap shortcut;
  F16Range range;
  std::int32_t temporal_factor, skipped;

  static __device__ void transform(const float (&m)[kInputs], float (&y)[kSize]) {
    multiply<to_floats(geometry::kWinogradUpsample.output)>(m, y);
  }
  __device__ float unscale() const { return 1 / scale_for(range); }

  __device__ void load(PixelsAt at, std::uint32_t (*pixels)[kBoxThreads],
                       std::uint64_t* loaded) const {
    at = {at.channel * kBoxes, at.column / 2, at.row / 2, (at.frame + skipped) / temporal_factor};
    for (int box = 0; box < kBoxes; ++box, at.channel += kChannelsOfBox) {
      load_box(shortcut, at, pixels[box * kSources], loaded);
    }
  }
  // geometry::DuplicateUpsample::channel(): of two, that of the copy in time or of the row.
  struct Added {
    std::uint32_t words[kSources][kBoxes];
    bool in_time, copy;
    __device__ float2 at(int i, int j) const {
      const auto& source = words[i / 2 * kSide + j / 2];
      const float2 first = unpack_bf16(source[0]), second = unpack_bf16(source[kBoxes - 1]);
      if constexpr (!kPairs) return first;
      return (in_time ? copy : i % 2 != 0) ? float2{first.y, second.y} : float2{first.x, second.x};
    }
  };
  __device__ Added added(const std::uint32_t (*pixels)[kBoxThreads], int word,
                         std::int32_t frame) const {
    Added added{.words = {},
                .in_time = temporal_factor == 2,
                .copy = (frame + skipped) % temporal_factor != 0};
    const int first = word * kBoxes, box = first / kBoxThreads;
#pragma unroll
    for (int i = 0; i < kSources; ++i) {
#pragma unroll
      for (int k = 0; k < kBoxes; ++k) {
        added.words[i][k] = pixels[box * kSources + i][first % kBoxThreads + k];
      }
    }
    if constexpr (kPairs) __syncthreads();  // y goes to the same place, by other threads
    return added;
  }
};

template <bool kPairs, int kBoxes>
cudaError_t run(const UpsampleOutput& p, cudaStream_t stream) {
  using Chosen = Way<kPairs>;
  const geometry::DuplicateUpsample& duplicate = p.duplicate;
  const geometry::WinogradTiles tiles{.size = Chosen::kSize,
                                      .height = 2 * p.tiles.height,
                                      .width = 2 * p.tiles.width,
                                      .first_row = p.tiles.first_row,
                                      .rows = p.tiles.rows};
  OutputArguments<Chosen> arguments{};
  cudaError_t status = describe_output(arguments, p.y, duplicate.out_frames(), tiles,
                                       duplicate.out_channels, p.norm);
  if (status == cudaSuccess) {
    status = map_components(arguments.products, p.m, kUpsampleProducts, arguments.rows,
                            duplicate.out_channels);
  }
  if (status == cudaSuccess) {
    const std::int64_t sizes[] = {duplicate.in_channels, duplicate.width, duplicate.height,
                                  duplicate.frames};
    const std::uint32_t box[] = {kChannelsOfBox, Chosen::kSide, Chosen::kSide, 1};
    status = make_tensor_map(arguments.way.shortcut, DType::kBF16, p.shortcut, sizes, box,
                             Swizzle::kNone);
  }
  if (status != cudaSuccess) return status;
  arguments.bias = p.bias;
  arguments.adds = true;
  arguments.way.range = p.range;
  arguments.way.temporal_factor = static_cast<std::int32_t>(duplicate.temporal_factor);
  arguments.way.skipped = static_cast<std::int32_t>(duplicate.skipped);
  return launch_output_tiles<kBoxes>(arguments, stream);
}

}  // namespace

cudaError_t upsample_output(const UpsampleOutput& p, cudaStream_t stream) {
  const geometry::DuplicateUpsample& duplicate = p.duplicate;
  if (!UpsampleOutput::takes(duplicate)) return cudaErrorInvalidValue;
  if (duplicate.out_frames() * p.tiles.per_frame() == 0) return cudaSuccess;
  const bool pairs = duplicate.in_channels == 2 * duplicate.out_channels;
  switch (duplicate.out_channels) {
    case 256:
      return pairs ? run<true, 1>(p, stream) : run<false, 1>(p, stream);
    case 512:
      return pairs ? run<true, 2>(p, stream) : run<false, 2>(p, stream);
    default:
      return pairs ? run<true, 4>(p, stream) : run<false, 4>(p, stream);
  }
}

}  // namespace pantograph::kernels
