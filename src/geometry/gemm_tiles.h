// How the products of kernels::component_gemm are cut into tiles, one after the other for a cluster
// of two blocks.
#pragma once

#include <cstdint>

namespace pantograph::geometry {

class GemmTiles {
 public:
  static constexpr std::int64_t kClusterRows = 256;  // of a tile: 128 for each block

  // A wide tile does twice as much with each row that it loads. Rounding to another type, as sums
  // of few columns do, there are narrow ones only. 0: they do not make up the columns.
  static constexpr std::int64_t choose_columns(std::int64_t columns, bool same_type) {
    const std::int64_t tile = same_type ? 256 : 128;
    return columns % tile == 0 ? tile : 0;
  }

  constexpr GemmTiles() = default;
  // `columns` are a multiple of a tile's.
  constexpr GemmTiles(std::int64_t components, std::int64_t rows, std::int64_t columns,
                      std::int64_t tile_columns)
      : row_tiles_(static_cast<std::int32_t>((rows + kClusterRows - 1) / kClusterRows)),
        column_tiles_(static_cast<std::int32_t>(columns / tile_columns)),
        tile_columns_(static_cast<std::int32_t>(tile_columns)),
        count_(components * row_tiles_ * column_tiles_) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  struct Tile {
    std::int32_t component, row, column;  // of its first sum
  };
  // Columns first: tiles that are worked on at a time share rows of a; then rows, for taps meet the
  // same rows again. Rows may hang over the end.
  [[nodiscard]] constexpr Tile tile(std::int64_t index) const {
    const auto column = static_cast<std::int32_t>(index % column_tiles_);
    const std::int64_t rest = index / column_tiles_;
    const auto row = static_cast<std::int32_t>(rest % row_tiles_);
    return {static_cast<std::int32_t>(rest / row_tiles_),
            row * static_cast<std::int32_t>(kClusterRows), column * tile_columns_};
  }

 private:
  std::int32_t row_tiles_ = 0, column_tiles_ = 0, tile_columns_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace pantograph::geometry
