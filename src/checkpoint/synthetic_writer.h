// Checkpoints of seeded random numbers in the real layout, for tests, demos and benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "checkpoint/json.h"
#include "checkpoint/tensor_spec.h"

namespace pantograph {

// mean + deviation * N(0, 1), each value rounded to bf16 first, so that every dtype holds (nearly,
// in f16) the same numbers.
struct SyntheticTensor {
  TensorSpec spec;
  double mean = 0, deviation = 1;
};

// Writes config.json and diffusion_pytorch_model.safetensors into `folder`, which is made; where
// the tensors take more than `shard_bytes`, shards with an index. Throws Error(kIo).
void write_synthetic_checkpoint(const std::filesystem::path& folder, const Json& config,
                                const std::vector<SyntheticTensor>& tensors, std::uint64_t seed,
                                DType dtype, std::int64_t shard_bytes = std::int64_t{5} << 30);

}  // namespace pantograph
