#include "ops/conv3d/winograd_plan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "geometry/winograd.h"

namespace pantograph::ops {
namespace {

constexpr std::int64_t kChannelStep = 256;
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();  // of what is counted

// Sums of the coefficients' sizes.
struct Amplification {
  double input = 0;                // the largest over the components' rows
  std::array<double, 3> weight{};  // by tap, the largest over the rows
};

template <std::size_t kOutputs>
Amplification amplification(const geometry::Winograd<kOutputs, 3>& winograd) {
  Amplification result;
  for (std::size_t i = 0; i < winograd.kInputs; ++i) {
    double sum = 0;
    for (const auto& value : winograd.input[i]) sum += std::abs(value.to_float());
    result.input = std::max(result.input, sum);
    for (std::size_t k = 0; k < 3; ++k) {
      result.weight[k] =
          std::max<double>(result.weight[k], std::abs(winograd.weight[i][k].to_float()));
    }
  }
  return result;
}

}  // namespace

std::int64_t winograd_tile_size(std::int64_t pixels, Thrift thrift) {
  struct Least {
    std::int64_t for_4, for_6;  // pixels
  };
  constexpr Least kLeast[] = {{0, 1 << 13}, {1 << 13, 1 << 15}, {1 << 15, 1 << 17}};
  const Least least = kLeast[static_cast<std::size_t>(thrift)];
  if (pixels >= least.for_6) return 6;
  return pixels >= least.for_4 ? 4 : 2;
}

std::size_t tile_bytes(const geometry::WinogradTiles& tiles, std::int64_t components,
                       std::int64_t frames, std::int64_t channels) {
  constexpr std::int64_t kElement = 2;
  std::int64_t bytes = kElement * components;
  require(checked_multiply(bytes, frames, bytes) &&
              checked_multiply(bytes, tiles.per_frame(), bytes) &&
              checked_multiply(bytes, channels, bytes),
          "more tiles than any memory holds");
  return static_cast<std::size_t>(bytes);
}

WinogradChoice choose_winograd(const Conv3dProblem& p) {
  if (p.dtype != DType::kBF16) return {.refusal = "bf16 only"};
  if (p.kernel.height != 3 || p.kernel.width != 3) return {.refusal = "3 x 3 in space only"};
  if (p.shift != KernelShift{}) return {.refusal = "no shifts"};
  const std::int64_t boxes = p.out_channels / kChannelStep;
  if (p.in_channels % kChannelStep != 0 || p.out_channels % kChannelStep != 0 ||
      (boxes != 1 && boxes != 2 && boxes != 4)) {
    return {.refusal = "multiples of 256 to 256, 512 or 1024 channels only"};
  }
  std::int64_t positions = p.frames + p.kernel.time - 1;
  if (!checked_multiply(positions, p.height, positions) ||
      !checked_multiply(positions, p.width, positions) || positions > kLargest) {
    return {.refusal = "more positions than 32 bits count"};
  }
  return {.tile_size = winograd_tile_size(p.height * p.width, p.thrift), .refusal = {}};
}

std::size_t winograd_input_bytes(const Conv3dProblem& p, const geometry::WinogradTiles& tiles) {
  return tile_bytes(tiles, tiles.components(), p.frames + p.kernel.time - 1, p.in_channels);
}

std::size_t winograd_product_bytes(const Conv3dProblem& p, const geometry::WinogradTiles& tiles) {
  return tile_bytes(tiles, tiles.components(), p.frames, p.out_channels);
}

std::vector<geometry::WinogradTiles> split_rows(const geometry::WinogradTiles& frame,
                                                std::size_t row_bytes, std::size_t limit) {
  geometry::WinogradTiles tiles = frame;
  const std::int64_t all = tiles.rows_of_frame();
  const std::int64_t fitting =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(limit / row_bytes), 1, all);
  const std::int64_t parts = (all + fitting - 1) / fitting;
  std::vector<geometry::WinogradTiles> result;
  for (std::int64_t part = 0; part < parts; ++part) {
    tiles.first_row = part * all / parts;
    tiles.rows = (part + 1) * all / parts - tiles.first_row;
    result.push_back(tiles);
  }
  return result;
}

std::vector<geometry::WinogradTiles> winograd_parts(const Conv3dProblem& p, std::int64_t tile_size,
                                                    std::size_t limit) {
  const geometry::WinogradTiles row{
      .size = tile_size, .height = p.height, .width = p.width, .rows = 1};
  return split_rows(row, winograd_input_bytes(p, row) + winograd_product_bytes(p, row), limit);
}

namespace {

// The largest sum over taps of the norms of a transformed filter.
double weight_norm(const Conv3dWeights& weights, const Amplification& amplified) {
  const std::int64_t in = weights.in_channels(), taps = weights.kernel().time;
  std::atomic<double> largest = 0;
  parallel_for(weights.out_channels(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t out = begin; out < end; ++out) {
      std::vector<double> squares(static_cast<std::size_t>(taps * 9));
      const std::vector<float> values = weights.weight().row_to_f32(out);
      const float* filter = values.data();
      for (std::int64_t i = 0; i < in; ++i, filter += squares.size()) {
        for (std::size_t tap = 0; tap < squares.size(); ++tap) {
          squares[tap] += double{filter[tap]} * double{filter[tap]};
        }
      }
      double sum = 0;
      for (std::int64_t i = 0; i < taps * 9; ++i) {
        sum += amplified.weight[static_cast<std::size_t>(i / 3 % 3)] *
               amplified.weight[static_cast<std::size_t>(i % 3)] *
               std::sqrt(squares[static_cast<std::size_t>(i)]);
      }
      double known = largest;
      while (sum > known && !largest.compare_exchange_weak(known, sum)) {
      }
    }
  });
  return largest;
}

}  // namespace

double winograd_bound(const Conv3dWeights& weights, std::int64_t tile_size, double input_norm) {
  const Amplification amplified = geometry::with_winograd(
      tile_size, [](const auto& winograd) { return amplification(winograd); });
  const double norm = weights.kept(join("norm for F(", tile_size, ", 3)"),
                                   [&] { return weight_norm(weights, amplified); });
  const double input = amplified.input * amplified.input * input_norm;
  return std::max({input, norm, input * norm});
}

}  // namespace pantograph::ops
