// What the kernels of the fast decode are measured on, and how much they have to do there: plain
// functions of sizes, which are those of the released decoder at 704 x 1248 in passes of 8 latent
// frames. Bytes are those that must be read or written, each once; weights, biases and gammas, a
// few MiB that stay in the caches, do not count.
#pragma once

#include <cstdint>

#include "geometry/upsample.h"
#include "geometry/winograd_tiles.h"

namespace pantograph::bench {

inline constexpr std::int64_t kElement = 2;  // bytes of a bf16 or an f16
// Of the causal convolutions: taps in time, and the frames that they keep.
inline constexpr std::int64_t kTaps = 3, kHistory = kTaps - 1;

// [frames, height, width, channels]
struct FramesCase {
  std::int64_t frames = 0, height = 0, width = 0, channels = 0;
  [[nodiscard]] constexpr std::int64_t positions() const { return frames * height * width; }
};

// y of a 3 x 3 x 3 convolution of a residual block, from as many channels and kHistory more frames.
struct ConvolutionCase {
  std::int64_t tile_size = 0;
  FramesCase y;

  [[nodiscard]] constexpr geometry::WinogradTiles tiles() const {
    geometry::WinogradTiles tiles{.size = tile_size, .height = y.height, .width = y.width};
    tiles.rows = tiles.rows_of_frame();
    return tiles;
  }
};
inline constexpr ConvolutionCase kConvolutions[] = {
    {6, {8, 352, 624, 256}},
    {6, {8, 176, 312, 512}},
    {6, {16, 88, 156, 1024}},
    {4, {16, 88, 156, 1024}},  // where memory is short
};

// By frames, height, width and channels of the shortcut, channels of y, and factor in time; as many
// frames as are given at a time.
inline constexpr geometry::DuplicateUpsample kUpsamplers[] = {
    {8, 44, 78, 1024, 1024, 2}, {4, 88, 156, 1024, 1024, 2}, {8, 176, 312, 1024, 512, 1}};
// Of x, all of a frame's.
geometry::WinogradTiles upsample_tiles(const geometry::DuplicateUpsample& sizes);

// y of the second upsampler's convolution in time, from half as many channels; what the last layer
// makes; and what the general path normalises.
inline constexpr FramesCase kTemporal = {4, 88, 156, 2048}, kPatches = {8, 352, 624, 12},
                            kNormed = {4, 352, 624, 256};

// What a transform out does besides the inverse and the bias.
struct OutputWay {
  const char* name;
  bool residual = false, y = false, norm = false;
  std::int64_t history_frames = 0;
};
inline constexpr OutputWay kOutputWays[] = {
    {"y", false, true, false, 0},
    {"norm", false, false, true, 0},
    {"residual, y, norm", true, true, true, 0},
    {"residual, y, norm, history", true, true, true, kHistory},
};

std::int64_t product_flops(std::int64_t components, std::int64_t rows, std::int64_t depth,
                           std::int64_t columns);
std::int64_t input_bytes(const ConvolutionCase& convolution);
std::int64_t output_bytes(const ConvolutionCase& convolution, const OutputWay& way);
std::int64_t upsample_input_bytes(const geometry::DuplicateUpsample& sizes);
// With the shortcut, y, its norm and history.
std::int64_t upsample_output_bytes(const geometry::DuplicateUpsample& sizes);
// Of y [frames, height, width, channels], from those of a tap's parts that lie in the frame.
std::int64_t sum_taps_bytes(const FramesCase& y);
std::int64_t rms_norm_bytes(const FramesCase& x, std::int64_t history_frames);

}  // namespace pantograph::bench
