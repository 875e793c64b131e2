// Checkpoints of seeded random numbers in the real layout, for tests, demos and benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "checkpoint/tensor_spec.h"
#include "pantograph/execution_context.h"

namespace pantograph {

enum class Distribution {
  kNormal,   // N(0, 1)
  kUniform,  // from -1 to 1
};

// mean + scale * z, each value rounded to bf16 first, so that every dtype holds (nearly, in f16)
// the same numbers.
struct SyntheticTensor {
  TensorSpec spec;
  double mean = 0, scale = 1;
  Distribution distribution = Distribution::kNormal;
};

// The inputs that each output of a matrix or convolution sums: all sizes but the first.
double fan_in(const TensorSpec& spec);

struct SyntheticCheckpoint {
  Json config;
  std::vector<SyntheticTensor> tensors;
  std::string stem = "diffusion_pytorch_model";  // of the weights' files
};

struct SyntheticOptions {
  std::uint64_t seed = 0;
  DType dtype = DType::kF32;
  std::int64_t shard_bytes = std::int64_t{5} << 30;
  CancelToken cancel{};
};

std::int64_t weight_bytes(const SyntheticCheckpoint& checkpoint, DType dtype);

// Makes `folder`, with those above it. Throws Error: kInvalidArgument where it already holds
// something, kIo where its disk has less than `bytes` free.
void prepare_folder(const std::filesystem::path& folder, std::int64_t bytes);

// Prepares `folder` and writes config.json and STEM.safetensors into it; where the tensors take
// more than `shard_bytes`, shards with an index. Throws Error: as prepare_folder, kIo, kCancelled.
void write_synthetic_checkpoint(const std::filesystem::path& folder,
                                const SyntheticCheckpoint& checkpoint,
                                const SyntheticOptions& options);

// Hands out a tensor's values in pieces of `dtype`. They depend on the seed and on `index`, the
// tensor's place in its checkpoint, and on no sharding. Throws Error(kCancelled).
void make_values(const SyntheticTensor& tensor, std::size_t index, const SyntheticOptions& options,
                 const std::function<void(const std::byte* data, std::size_t bytes)>& take);

// The file appears when it is complete. Throws Error(kIo).
void write_json(const std::filesystem::path& path, const Json& json);

}  // namespace pantograph
