// How a convolution is cut up for Winograd's way: decided on the host, from sizes and weights
// alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "geometry/winograd_tiles.h"
#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// Side of the tiles for frames of so many pixels. Larger tiles take fewer products but more
// weights, (m + 2)^2 of them for 9. Both grow alike with the channels and taps, only the products
// with the pixels: so at each price of memory there are sizes of frames from which tiles of 4 and
// of 6 are worth theirs.
std::int64_t winograd_tile_size(std::int64_t pixels, Thrift thrift);

// The tiles' side, or why the problem is not one for this way. Does not depend on the number of
// frames.
struct WinogradChoice {
  std::int64_t tile_size = 0;
  std::string refusal;  // where tile_size is 0
};
WinogradChoice choose_winograd(const Conv3dProblem& problem);

// The rows of tiles that are worked on at a time: few enough for `limit` bytes where one row takes
// `row_bytes` of transformed input and products and fits, and about as many in each part.
std::vector<geometry::WinogradTiles> split_rows(const geometry::WinogradTiles& frame,
                                                std::size_t row_bytes, std::size_t limit);
std::vector<geometry::WinogradTiles> winograd_parts(const Conv3dProblem& problem,
                                                    std::int64_t tile_size, std::size_t limit);
// Bytes in f16 of so many components of the tiles' channels.
std::size_t tile_bytes(const geometry::WinogradTiles& tiles, std::int64_t components,
                       std::int64_t frames, std::int64_t channels);
// Bytes of the transformed input, [components][frames + taps - 1][tiles][in], and of the products,
// [components][frames][tiles][out].
std::size_t winograd_input_bytes(const Conv3dProblem& problem,
                                 const geometry::WinogradTiles& tiles);
std::size_t winograd_product_bytes(const Conv3dProblem& problem,
                                   const geometry::WinogradTiles& tiles);

// A bound on what the transformed input, the transformed weights and the products can come to, for
// an input whose channels have at most the norm `input_norm` at each position: by the triangle
// inequality over the transforms' coefficients, and Cauchy's and Schwarz's over channels.
double winograd_bound(const Conv3dWeights& weights, std::int64_t tile_size, double input_norm);

}  // namespace pantograph::ops
