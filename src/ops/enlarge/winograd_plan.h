// How an enlargement is done by fewer products: decided on the host, from sizes and weights alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "geometry/upsample.h"
#include "geometry/winograd_tiles.h"
#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// Why sizes of y and of its shortcut are none for this way; nothing where they are.
std::optional<std::string> refuse_winograd_enlarge(const geometry::DuplicateUpsample& sizes);

// The rows of tiles of x that are worked on at a time, for `limit` bytes where one row fits.
std::vector<geometry::WinogradTiles> winograd_enlarge_parts(
    const geometry::DuplicateUpsample& sizes, std::size_t limit);
// Bytes of the transformed input, [16][frames][tiles][channels], and of the products, [25][frames]
// [tiles][channels].
std::size_t winograd_enlarge_input_bytes(const geometry::DuplicateUpsample& sizes,
                                         const geometry::WinogradTiles& tiles);
std::size_t winograd_enlarge_product_bytes(const geometry::DuplicateUpsample& sizes,
                                           const geometry::WinogradTiles& tiles);

// Bounds on what becomes f16, by the triangle inequality.
struct EnlargeBounds {
  double weight = 0;  // of the transformed weights
  double gain = 0;    // of the transformed input and of the products, where |x| is at most 1
};
EnlargeBounds winograd_enlarge_bounds(const Conv3dWeights& whole);

}  // namespace pantograph::ops
