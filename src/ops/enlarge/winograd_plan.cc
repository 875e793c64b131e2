#include "ops/enlarge/winograd_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "geometry/winograd_upsample.h"
#include "ops/conv3d/winograd_plan.h"

namespace pantograph::ops {
namespace {

constexpr geometry::WinogradUpsample kWay = geometry::kWinogradUpsample;
constexpr std::int64_t kTileSize = 2;  // pixels of x
constexpr std::int64_t kInputs = kWay.kInputs * kWay.kInputs;
constexpr std::int64_t kProducts = kWay.kProducts * kWay.kProducts;

// The largest sum of sizes over input channels that a transformed filter has.
double largest_filter_sum(const Conv3dWeights& whole) {
  constexpr std::int64_t kTaps = 9;
  const std::int64_t in = whole.in_channels(), out = whole.out_channels();
  std::vector<double> sums(static_cast<std::size_t>(out));
  parallel_for(out, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      std::array<double, kTaps> taps{};
      const std::vector<float> values = whole.weight().row_to_f32(o);
      const float* filter = values.data();
      for (std::int64_t i = 0; i < in; ++i, filter += taps.size()) {
        for (std::size_t tap = 0; tap < taps.size(); ++tap) {
          taps[tap] += std::abs(double{filter[tap]});
        }
      }
      double& largest = sums[static_cast<std::size_t>(o)];
      for (const auto& row : kWay.weight) {
        for (const auto& column : kWay.weight) {
          double sum = 0;
          for (std::size_t tap = 0; tap < taps.size(); ++tap) {
            sum +=
                std::abs(double{row[tap / 3].to_float()} * column[tap % 3].to_float()) * taps[tap];
          }
          if (!(sum <= largest)) largest = sum;  // NaN too
        }
      }
    }
  });
  const auto bad = std::find_if(sums.begin(), sums.end(), [](double s) { return std::isnan(s); });
  return bad != sums.end() ? *bad : *std::max_element(sums.begin(), sums.end());
}

double largest_input_sum() {
  double largest = 0;
  for (const auto& row : kWay.input) {
    double sum = 0;
    for (const auto& value : row) sum += std::abs(value.to_float());
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

std::optional<std::string> refuse_winograd_enlarge(const geometry::DuplicateUpsample& sizes) {
  const std::int64_t channels = sizes.out_channels;
  if (channels != 256 && channels != 512 && channels != 1024) {
    return "256, 512 or 1024 channels only";
  }
  if (sizes.temporal_factor > 2 ||
      (sizes.in_channels != channels && sizes.in_channels != 2 * channels)) {
    return "a shortcut with as many channels or twice as many only";
  }
  std::int64_t positions = sizes.temporal_factor * sizes.frames;
  if (!checked_multiply(positions, sizes.height, positions) ||
      !checked_multiply(positions, sizes.width, positions) ||
      positions > std::numeric_limits<std::int32_t>::max()) {
    return "more positions than 32 bits count";
  }
  return std::nullopt;
}

std::size_t winograd_enlarge_input_bytes(const geometry::DuplicateUpsample& sizes,
                                         const geometry::WinogradTiles& tiles) {
  return tile_bytes(tiles, kInputs, sizes.out_frames(), sizes.out_channels);
}

std::size_t winograd_enlarge_product_bytes(const geometry::DuplicateUpsample& sizes,
                                           const geometry::WinogradTiles& tiles) {
  return tile_bytes(tiles, kProducts, sizes.out_frames(), sizes.out_channels);
}

std::vector<geometry::WinogradTiles> winograd_enlarge_parts(
    const geometry::DuplicateUpsample& sizes, std::size_t limit) {
  const geometry::WinogradTiles row{
      .size = kTileSize, .height = sizes.height, .width = sizes.width, .rows = 1};
  return split_rows(
      row, winograd_enlarge_input_bytes(sizes, row) + winograd_enlarge_product_bytes(sizes, row),
      limit);
}

EnlargeBounds winograd_enlarge_bounds(const Conv3dWeights& whole) {
  const double sum =
      whole.kept("filter sum for enlarging", [&] { return largest_filter_sum(whole); });
  // Two factors of a product have been rounded to 11 bits before.
  constexpr double kRounding = 1 + 0x1p-10;
  const double input = largest_input_sum();
  return {.weight = sum, .gain = input * input * std::max(1.0, sum) * kRounding};
}

}  // namespace pantograph::ops
