#include "kernels/winograd/output_tiles.cuh"
#include "kernels/winograd/transform.cuh"

namespace pantograph::kernels {
namespace {

template <int kOutputs>
struct Way {
  static constexpr int kSize = kOutputs, kInputs = kOutputs + 2;
  static constexpr int kAddedBytes = kSize * kSize * kChannelsOfBox * 2;
  CUtensorMap residual;

  static __device__ void transform(const float (&m)[kInputs], float (&y)[kSize]) {
    transform_output<kOutputs>(m, y);
  }
  static __device__ float unscale() { return 1; }
  __device__ void load(PixelsAt at, std::uint32_t (*pixels)[kBoxThreads],
                       std::uint64_t* loaded) const {
    load_box(residual, at, pixels, loaded);
  }
  struct Added {
    const std::uint32_t (*pixels)[kBoxThreads];
    int word;
    __device__ float2 at(int i, int j) const { return unpack_bf16(pixels[i * kSize + j][word]); }
  };
  static __device__ Added added(const std::uint32_t (*pixels)[kBoxThreads], int word,
                                std::int32_t /*frame*/) {
    return {pixels, word};
  }
};

template <int kSize, int kBoxes>
cudaError_t launch(const WinogradOutput& p, cudaStream_t stream) {
  OutputArguments<Way<kSize>> arguments{};
  cudaError_t status = describe_output(arguments, p.y, p.frames, p.tiles, p.channels, p.norm);
  if (status == cudaSuccess) {
    status =
        map_components(arguments.products, p.m, p.tiles.components(), arguments.rows, p.channels);
  }
  arguments.bias = p.bias;
  arguments.adds = p.residual != nullptr;
  if (status == cudaSuccess && arguments.adds) {
    status = map_pixels(arguments.way.residual, p.residual, p.frames, p.tiles, p.channels, kSize);
  }
  return status == cudaSuccess ? launch_output_tiles<kBoxes>(arguments, stream) : status;
}

template <int kSize>
cudaError_t run(const WinogradOutput& p, cudaStream_t stream) {
  switch (p.channels) {
    case 256:
      return launch<kSize, 1>(p, stream);
    case 512:
      return launch<kSize, 2>(p, stream);
    default:
      return launch<kSize, 4>(p, stream);
  }
}

}  // namespace

cudaError_t winograd_output(const WinogradOutput& p, cudaStream_t stream) {
  if (!WinogradOutput::takes_channels(p.channels)) return cudaErrorInvalidValue;
  if (p.frames * p.tiles.per_frame() == 0) return cudaSuccess;
  const auto run_size = [&]<std::size_t kSize>(const geometry::Winograd<kSize, 3>&) {
    return run<kSize>(p, stream);
  };
  return geometry::with_winograd(p.tiles.size, run_size);
}

}  // namespace pantograph::kernels
