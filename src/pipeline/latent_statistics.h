// What latents look like, to help tell raw from normalised ones.
#pragma once

#include <string>
#include <vector>

#include "pantograph/tensor_view.h"
#include "pantograph/vae.h"

namespace pantograph {

struct LatentStatistics {
  std::vector<double> mean, deviation;  // of each channel, over all frames and positions
  std::int64_t not_finite = 0;          // elements that are NaN or infinite, left out above
};

// latents [C, T, h, w]
LatentStatistics measure_latents(const TensorView& latents);

// A sentence: which of the two scales the numbers are closer to. Normalised latents have about mean
// 0 and standard deviation 1 in every channel, raw ones the config's; `config` is the released
// model's.
std::string suggest_scale(const LatentStatistics& statistics, const VaeConfig& config);

}  // namespace pantograph
