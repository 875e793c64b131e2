#include "bench/kernel_cases.h"

#include "geometry/winograd_upsample.h"

namespace pantograph::bench {
namespace {

using geometry::WinogradUpsample;

// Read, written in front of the norm, and written again with the last frames.
std::int64_t moved(std::int64_t history_frames) {
  return 3 * history_frames;
}

}  // namespace

geometry::WinogradTiles upsample_tiles(const geometry::DuplicateUpsample& sizes) {
  geometry::WinogradTiles tiles{.size = 2, .height = sizes.height, .width = sizes.width};
  tiles.rows = tiles.rows_of_frame();
  return tiles;
}

std::int64_t product_flops(std::int64_t components, std::int64_t rows, std::int64_t depth,
                           std::int64_t columns) {
  return 2 * components * rows * depth * columns;
}

std::int64_t input_bytes(const ConvolutionCase& convolution) {
  const auto& [frames, height, width, channels] = convolution.y;
  const geometry::WinogradTiles tiles = convolution.tiles();
  return (frames + kHistory) * (height * width + tiles.components() * tiles.per_frame()) *
         channels * kElement;
}

std::int64_t output_bytes(const ConvolutionCase& convolution, const OutputWay& way) {
  const auto& [frames, height, width, channels] = convolution.y;
  const geometry::WinogradTiles tiles = convolution.tiles();
  const std::int64_t passes = int{way.residual} + int{way.y} + int{way.norm};
  const std::int64_t frames_moved = passes * frames + moved(way.history_frames);
  return (frames * tiles.components() * tiles.per_frame() + frames_moved * height * width) *
         channels * kElement;
}

std::int64_t upsample_input_bytes(const geometry::DuplicateUpsample& sizes) {
  constexpr std::int64_t kInputs = WinogradUpsample::kInputs * WinogradUpsample::kInputs;
  const std::int64_t pixels = sizes.height * sizes.width;
  return sizes.out_frames() * (pixels + kInputs * upsample_tiles(sizes).per_frame()) *
         sizes.out_channels * kElement;
}

std::int64_t upsample_output_bytes(const geometry::DuplicateUpsample& sizes) {
  constexpr std::int64_t kProducts = WinogradUpsample::kProducts * WinogradUpsample::kProducts;
  const std::int64_t frames = sizes.out_frames(), pixels = sizes.height * sizes.width;
  const std::int64_t products = frames * kProducts * upsample_tiles(sizes).per_frame();
  const std::int64_t made = (2 * frames + moved(kHistory)) * 4 * pixels;
  return ((products + made) * sizes.out_channels + sizes.frames * pixels * sizes.in_channels) *
         kElement;
}

std::int64_t sum_taps_bytes(const FramesCase& y) {
  // Of its three taps each row has those whose neighbour is there: 3 - 2 / height on average.
  const std::int64_t parts = y.frames * (3 * y.height - 2) * (3 * y.width - 2);
  return (parts + y.positions()) * y.channels * kElement;
}

std::int64_t rms_norm_bytes(const FramesCase& x, std::int64_t history_frames) {
  return (2 * x.frames + moved(history_frames)) * x.height * x.width * x.channels * kElement;
}

}  // namespace pantograph::bench
