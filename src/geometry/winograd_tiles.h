// How frames are cut into the tiles of a Winograd convolution.
#pragma once

#include <cstdint>

namespace pantograph::geometry {

// Tiles of size x size pixels, row by row from the top left corner; those at the right and at the
// bottom may hang over. Only rows [first_row, first_row + rows) of tiles are meant.
struct WinogradTiles {
  std::int64_t size = 6;
  std::int64_t height = 0, width = 0;  // of a frame, in pixels
  std::int64_t first_row = 0, rows = 0;

  [[nodiscard]] constexpr std::int64_t columns() const { return (width + size - 1) / size; }
  [[nodiscard]] constexpr std::int64_t rows_of_frame() const { return (height + size - 1) / size; }
  [[nodiscard]] constexpr std::int64_t per_frame() const { return rows * columns(); }
  [[nodiscard]] constexpr std::int64_t components() const { return (size + 2) * (size + 2); }

  // First pixel of a tile, counted within the rows that are meant.
  [[nodiscard]] constexpr std::int64_t top(std::int64_t tile) const {
    return (first_row + tile / columns()) * size;
  }
  [[nodiscard]] constexpr std::int64_t left(std::int64_t tile) const {
    return tile % columns() * size;
  }
};

}  // namespace pantograph::geometry
