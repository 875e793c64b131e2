// Seeded random checkpoints and latents in the real layout, for demos, tests and benchmarks: the
// released weights are not needed to see or measure a decode.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/synthetic_writer.h"
#include "pantograph/vae.h"

namespace pantograph::wan_vae {

// The released configuration, with channels 1/32 as wide.
VaeConfig tiny_config();

// The decoder's and the encoder's tensors. Convolutions are uniform in +-1.2 / sqrt(fan_in), gammas
// 1 + 0.2 N(0, 1).
SyntheticCheckpoint synthetic_checkpoint(const VaeConfig& config);
// Written into `folder`, which is made.
void make_checkpoint(const std::filesystem::path& folder, const VaeConfig& config,
                     std::uint64_t seed, DType dtype);

// The decoder's numbers in memory, bf16: for as long as it lives, `checkpoint` may be decoded with.
struct MemoryCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::vector<std::byte>> tensors;
};
MemoryCheckpoint make_memory_checkpoint(const VaeConfig& config, std::uint64_t seed);

// Writes one tensor "latents" [48, T, h, w], N(0, 1) rounded to bf16. The numbers of the first T'
// frames do not depend on T: a shorter clip of the same seed and size is a prefix.
void make_latents(const std::filesystem::path& file, std::int64_t frames, std::int64_t height,
                  std::int64_t width, std::uint64_t seed, DType dtype);

// The numbers of such a file as bf16, [48, T, h, w].
std::vector<std::uint16_t> make_memory_latents(std::int64_t frames, std::int64_t height,
                                               std::int64_t width, std::uint64_t seed);

}  // namespace pantograph::wan_vae
