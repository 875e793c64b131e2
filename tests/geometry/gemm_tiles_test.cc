#include "geometry/gemm_tiles.h"

#include <gtest/gtest.h>

#include <vector>

namespace pantograph::geometry {
namespace {

TEST(GemmTiles, AreAsWideAsTheColumnsAllow) {
  for (const std::int64_t columns : {256, 512, 1024, 2048}) {
    EXPECT_EQ(GemmTiles::choose_columns(columns, true), 256);
    EXPECT_EQ(GemmTiles::choose_columns(columns, false), 128);
  }
  for (const std::int64_t columns : {128, 384}) {
    EXPECT_EQ(GemmTiles::choose_columns(columns, true), 0);
    EXPECT_EQ(GemmTiles::choose_columns(columns, false), 128);
  }
  for (const std::int64_t columns : {1, 64, 127, 192}) {
    EXPECT_EQ(GemmTiles::choose_columns(columns, true), 0);
    EXPECT_EQ(GemmTiles::choose_columns(columns, false), 0);
  }
}

TEST(GemmTiles, CoverEverySumOnce) {
  for (const std::int64_t components : {1, 3}) {
    for (const std::int64_t columns : {128, 256, 768}) {
      for (const std::int64_t rows : {1, 255, 256, 257, 700}) {
        const std::int64_t width = GemmTiles::choose_columns(columns, columns % 256 == 0);
        const GemmTiles tiles(components, rows, columns, width);
        std::vector<int> times(static_cast<std::size_t>(components * rows * columns));
        for (std::int64_t i = 0; i < tiles.count(); ++i) {
          const GemmTiles::Tile tile = tiles.tile(i);
          for (std::int64_t r = tile.row; r < tile.row + GemmTiles::kClusterRows && r < rows; ++r) {
            for (std::int64_t c = 0; c < width; ++c) {
              const std::int64_t sum = (tile.component * rows + r) * columns + tile.column + c;
              ++times.at(static_cast<std::size_t>(sum));
            }
          }
        }
        EXPECT_EQ(times, std::vector<int>(times.size(), 1))
            << components << " x " << rows << " x " << columns;
      }
    }
  }
}

// The rows of a component follow each other, and the columns of its rows.
TEST(GemmTiles, AreInTheOrderInWhichTheyShareWhatTheyRead) {
  const GemmTiles tiles(2, 300, 512, 256);
  const std::vector<std::vector<std::int32_t>> expected = {{0, 0, 0},     {0, 0, 256},  {0, 256, 0},
                                                           {0, 256, 256}, {1, 0, 0},    {1, 0, 256},
                                                           {1, 256, 0},   {1, 256, 256}};
  std::vector<std::vector<std::int32_t>> found;
  for (std::int64_t i = 0; i < tiles.count(); ++i) {
    const GemmTiles::Tile tile = tiles.tile(i);
    found.push_back({tile.component, tile.row, tile.column});
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace pantograph::geometry
