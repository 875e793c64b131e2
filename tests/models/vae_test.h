// Clips made up on the spot, decoded whole or in pieces, and what two decodes differ by.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "pantograph/vae.h"
#include "support/golden_clip.h"

namespace pantograph::test {

inline constexpr std::int64_t kLatentChannels = 48;  // of both golden checkpoints

// Dense f32 latents [48, T, h, w], N(0, 1).
struct Latents {
  std::vector<float> values;
  TensorView view;

  Latents(std::int64_t frames, std::int64_t height, std::int64_t width, std::uint64_t seed = 1)
      : values(static_cast<std::size_t>(kLatentChannels * frames * height * width)),
        view(TensorView::dense(values.data(), DType::kF32,
                               {kLatentChannels, frames, height, width})) {
    const Random random(seed, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(random.normal(i));
    }
  }
  Latents(const Latents&) = delete;
  Latents& operator=(const Latents&) = delete;
};

inline std::vector<float> decode(const Vae& vae, const TensorView& latents,
                                 const DecodeOptions& options = {}) {
  CollectingSink sink;
  vae.decode(latents, sink, options);
  return std::move(sink.pixels);
}

// Pushes of the sizes given, which add up to the clip.
inline std::vector<float> decode_pushed(const Vae& vae, const TensorView& latents,
                                        const std::vector<std::int64_t>& pushes,
                                        const DecodeOptions& options = {}) {
  DecodeSession session = vae.decode_session(latents.shape[2], latents.shape[3], options);
  CollectingSink sink;
  std::int64_t begin = 0;
  for (const std::int64_t count : pushes) {
    session.push(latents.slice(1, begin, count), sink);
    begin += count;
    EXPECT_EQ(session.latent_frames(), begin);
    EXPECT_EQ(sink.frame_count, vae.config().video_frames(begin));
  }
  EXPECT_EQ(begin, latents.shape[1]);
  return std::move(sink.pixels);
}

inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return 1e9;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

// The frames of two decodes that differ by rounding only.
inline constexpr double kRounding = 1e-5;

}  // namespace pantograph::test
