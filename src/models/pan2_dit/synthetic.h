// Seeded random DiTs in the real layout: the released weights are not needed to run, test or
// measure one.
#pragma once

#include <cstdint>
#include <filesystem>

#include "checkpoint/synthetic_writer.h"
#include "models/pan2_dit/config.h"
#include "pantograph/tensor_view.h"

namespace pantograph::pan2_dit {

// The released configuration with 4 heads of 32, 3 layers and 2 refiner layers; `text_channels`
// is the text tower's width.
Config tiny_config(std::int64_t text_channels);

// Activations stay near unit size and no weight has a neutral value.
SyntheticCheckpoint synthetic_checkpoint(const Config& config);
// Written into `folder`, which is made.
void make_checkpoint(const std::filesystem::path& folder, const Config& config, std::uint64_t seed,
                     DType dtype);

}  // namespace pantograph::pan2_dit
