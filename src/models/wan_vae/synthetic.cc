#include "models/wan_vae/synthetic.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <system_error>

#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/half.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/temporary_file.h"
#include "models/wan_vae/config.h"

namespace pantograph::wan_vae {
namespace {

constexpr std::int64_t kPiece = 1 << 20;  // elements made at a time

using Value = std::function<double(std::int64_t index)>;

// Hands out `count` values in pieces, rounded to bf16 and then stored as `dtype`.
void make_values(DType dtype, std::int64_t count, const Value& value,
                 const std::function<void(const std::byte* data, std::size_t bytes)>& take) {
  std::vector<float> values(static_cast<std::size_t>(std::min(count, kPiece)));
  std::vector<std::byte> stored(values.size() * size_of(dtype));
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    parallel_for(size, 1 << 12, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        values[static_cast<std::size_t>(i)] =
            bf16_to_float(float_to_bf16(static_cast<float>(value(begin + i))));
      }
    });
    convert_from_f32(values.data(), dtype, stored.data(), size);
    take(stored.data(), static_cast<std::size_t>(size) * size_of(dtype));
  }
}

void append_values(SafetensorsWriter& writer, DType dtype, std::int64_t count, const Value& value) {
  make_values(dtype, count, value,
              [&](const std::byte* data, std::size_t bytes) { writer.append(data, bytes); });
}

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

// Every tensor of a synthetic checkpoint with its numbers.
void for_each_tensor(const std::vector<TensorSpec>& specs, std::uint64_t seed,
                     const std::function<void(const TensorSpec&, const Value&)>& take) {
  std::int64_t fan_in = 1;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Random random(seed, i);
    if (specs[i].name.ends_with(".gamma")) {
      take(specs[i], [&](std::int64_t k) { return 1 + 0.2 * random.normal(k); });
      continue;
    }
    // A bias follows its weight and shares its bound.
    if (specs[i].name.ends_with(".weight")) fan_in = elements(specs[i].shape) / specs[i].shape[0];
    const double bound = 1.2 / std::sqrt(static_cast<double>(fan_in));
    take(specs[i], [&](std::int64_t k) { return bound * (2 * random.uniform(k) - 1); });
  }
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  TemporaryOutput output(path);
  std::ofstream file(output.path(), std::ios::binary);
  file << text;
  file.close();
  if (!file) fail(ErrorKind::kIo, path.string(), ": could not be written");
  output.commit();
}

}  // namespace

VaeConfig tiny_config() {
  VaeConfig config = released_config();
  config.encoder_base_channels = 5;
  config.decoder_base_channels = 8;
  return config;
}

void make_checkpoint(const std::filesystem::path& folder, const VaeConfig& config,
                     std::uint64_t seed, DType dtype) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::kIo, folder.string(), ": cannot make the folder: ", error.message());

  const std::vector<TensorSpec> specs = decoder_tensors(config);
  std::vector<NamedTensor> tensors;
  for (const TensorSpec& spec : specs) tensors.push_back({spec.name, dtype, spec.shape});
  SafetensorsWriter writer(folder / "diffusion_pytorch_model.safetensors", tensors,
                           {{"format", "pt"}});
  for_each_tensor(specs, seed, [&](const TensorSpec& spec, const Value& value) {
    append_values(writer, dtype, elements(spec.shape), value);
  });
  writer.finish();
  write_text(folder / "config.json", config_to_json(config).dump(2) + "\n");
}

MemoryCheckpoint make_memory_checkpoint(const VaeConfig& config, std::uint64_t seed) {
  MemoryCheckpoint made;
  for_each_tensor(decoder_tensors(config), seed, [&](const TensorSpec& spec, const Value& value) {
    std::vector<std::byte>& data = made.tensors.emplace_back();
    const std::int64_t count = elements(spec.shape);
    data.reserve(static_cast<std::size_t>(count) * size_of(DType::kBF16));
    make_values(DType::kBF16, count, value, [&](const std::byte* piece, std::size_t bytes) {
      data.insert(data.end(), piece, piece + bytes);
    });
    made.checkpoint.tensors[spec.name] = {TensorView::dense(data.data(), DType::kBF16, spec.shape),
                                          nullptr};
  });
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
  const std::int64_t plane = height * width;
  for (std::int64_t c = 0; c < channels; ++c) {
    const Random random(seed, static_cast<std::uint64_t>(c));
    append_values(writer, dtype, frames * plane, [&](std::int64_t k) { return random.normal(k); });
  }
  writer.finish();
}

}  // namespace pantograph::wan_vae
