#include "pipeline/latent_statistics.h"

#include <cmath>

#include "core/convert.h"
#include "core/parallel.h"

namespace pantograph {
namespace {

struct Channel {
  double mean = 0, deviation = 0;
  std::int64_t not_finite = 0;
};

// Two passes over one channel, so that a large mean costs no digits.
Channel measure_channel(const TensorView& latents, std::int64_t channel) {
  const TensorView one = latents.slice(0, channel, 1);
  const auto element = static_cast<std::int64_t>(size_of(one.dtype));
  const auto* base = static_cast<const std::byte*>(one.data);
  const auto each = [&](auto&& visit) {
    for (std::int64_t t = 0; t < one.shape[1]; ++t) {
      for (std::int64_t y = 0; y < one.shape[2]; ++y) {
        for (std::int64_t x = 0; x < one.shape[3]; ++x) {
          float value;
          convert_to_f32(
              one.dtype,
              base + (t * one.strides[1] + y * one.strides[2] + x * one.strides[3]) * element,
              &value, 1);
          visit(double{value});
        }
      }
    }
  };
  Channel result;
  std::int64_t count = 0;
  double sum = 0, squares = 0;
  each([&](double value) {
    if (std::isfinite(value)) {
      sum += value;
      ++count;
    } else {
      ++result.not_finite;
    }
  });
  if (count == 0) return result;
  result.mean = sum / static_cast<double>(count);
  each([&](double value) {
    if (std::isfinite(value)) squares += (value - result.mean) * (value - result.mean);
  });
  result.deviation = std::sqrt(squares / static_cast<double>(count));
  return result;
}

// How far a channel is from a mean and standard deviation: both differences, in units of the
// latter.
double distance(double mean, double deviation, double expected_mean, double expected_deviation) {
  const double ratio = std::log(std::max(deviation, 1e-6) / expected_deviation);
  return std::abs(mean - expected_mean) / expected_deviation + std::abs(ratio);
}

}  // namespace

LatentStatistics measure_latents(const TensorView& latents) {
  const auto channels = static_cast<std::size_t>(latents.shape[0]);
  std::vector<Channel> measured(channels);
  parallel_for(latents.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      measured[static_cast<std::size_t>(c)] = measure_channel(latents, c);
    }
  });
  LatentStatistics statistics;
  for (const Channel& channel : measured) {
    statistics.mean.push_back(channel.mean);
    statistics.deviation.push_back(channel.deviation);
    statistics.not_finite += channel.not_finite;
  }
  return statistics;
}

std::string suggest_scale(const LatentStatistics& statistics, const VaeConfig& config) {
  if (statistics.mean.size() != config.latents_mean.size()) {
    return "not latents of the Wan2.2 VAE, which have " +
           std::to_string(config.latents_mean.size()) + " channels";
  }
  double normalized = 0, raw = 0;
  for (std::size_t c = 0; c < statistics.mean.size(); ++c) {
    normalized += distance(statistics.mean[c], statistics.deviation[c], 0, 1);
    raw += distance(statistics.mean[c], statistics.deviation[c], config.latents_mean[c],
                    config.latents_std[c]);
  }
  // A clear majority of the distance, or no verdict: short clips are far from both.
  if (normalized < 0.7 * raw) return "closer to normalized: --latent-scale normalized";
  if (raw < 0.7 * normalized) return "closer to raw: --latent-scale raw";
  return "near both scales; only the program that wrote them can tell";
}

}  // namespace pantograph
