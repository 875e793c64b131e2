#include "models/wan_vae/synthetic.h"

#include <cmath>
#include <utility>

#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/half.h"
#include "core/parallel.h"
#include "core/random.h"
#include "models/wan_vae/config.h"

namespace pantograph::wan_vae {
namespace {

std::vector<SyntheticTensor> random_tensors(const std::vector<TensorSpec>& specs) {
  std::vector<SyntheticTensor> tensors;
  double bound = 1;
  for (const TensorSpec& spec : specs) {
    if (spec.name.ends_with(".gamma")) {
      tensors.push_back({.spec = spec, .mean = 1, .scale = 0.2});
      continue;
    }
    // A bias follows its weight and shares its bound.
    if (spec.name.ends_with(".weight")) bound = 1.2 / std::sqrt(fan_in(spec));
    tensors.push_back({.spec = spec, .scale = bound, .distribution = Distribution::kUniform});
  }
  return tensors;
}

}  // namespace

VaeConfig tiny_config() {
  VaeConfig config = released_config();
  config.encoder_base_channels = 5;
  config.decoder_base_channels = 8;
  return config;
}

SyntheticCheckpoint synthetic_checkpoint(const VaeConfig& config) {
  // The decoder first: its numbers are the same with and without the encoder.
  std::vector<TensorSpec> specs = decoder_tensors(config);
  for (TensorSpec& spec : encoder_tensors(config)) specs.push_back(std::move(spec));
  return {.config = config_to_json(config), .tensors = random_tensors(specs)};
}

void make_checkpoint(const std::filesystem::path& folder, const VaeConfig& config,
                     std::uint64_t seed, DType dtype) {
  write_synthetic_checkpoint(folder, synthetic_checkpoint(config), {.seed = seed, .dtype = dtype});
}

MemoryCheckpoint make_memory_checkpoint(const VaeConfig& config, std::uint64_t seed) {
  MemoryCheckpoint made;
  const std::vector<SyntheticTensor> tensors = random_tensors(decoder_tensors(config));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<std::byte>& data = made.tensors.emplace_back();
    make_values(tensors[i], i, {.seed = seed, .dtype = DType::kBF16},
                [&](const std::byte* piece, std::size_t bytes) {
                  data.insert(data.end(), piece, piece + bytes);
                });
    const TensorSpec& spec = tensors[i].spec;
    made.checkpoint.tensors[spec.name] = {TensorView::dense(data.data(), DType::kBF16, spec.shape),
                                          nullptr};
  }
  return made;
}

std::vector<std::uint16_t> make_memory_latents(std::int64_t frames, std::int64_t height,
                                               std::int64_t width, std::uint64_t seed) {
  const std::int64_t channels = released_config().latent_channels, count = frames * height * width;
  std::vector<std::uint16_t> values(static_cast<std::size_t>(channels * count));
  parallel_for(channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const Random random(seed, static_cast<std::uint64_t>(c));
      for (std::int64_t i = 0; i < count; ++i) {
        values[static_cast<std::size_t>(c * count + i)] =
            float_to_bf16(static_cast<float>(random.normal(i)));
      }
    }
  });
  return values;
}

void make_latents(const std::filesystem::path& file, std::int64_t frames, std::int64_t height,
                  std::int64_t width, std::uint64_t seed, DType dtype) {
  const std::int64_t channels = released_config().latent_channels;
  if (frames < 1 || height < 1 || width < 1) {
    fail(ErrorKind::kInvalidArgument, "latents of ", frames, " frames of ", height, " x ", width,
         "; each must be at least 1");
  }
  // Checks that the size is one that can be counted.
  TensorView::dense(nullptr, DType::kF64, {channels, frames, height, width});
  SafetensorsWriter writer(file, {{"latents", dtype, {channels, frames, height, width}}});
  const SyntheticTensor channel{.spec = {"latents", {frames, height, width}}};
  for (std::int64_t c = 0; c < channels; ++c) {
    make_values(channel, static_cast<std::size_t>(c), {.seed = seed, .dtype = dtype},
                [&](const std::byte* data, std::size_t bytes) { writer.append(data, bytes); });
  }
  writer.finish();
}

}  // namespace pantograph::wan_vae
