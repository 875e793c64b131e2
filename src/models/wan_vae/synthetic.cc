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

// Appends `count` values, rounded to bf16 and then stored as `dtype`.
void append_values(SafetensorsWriter& writer, DType dtype, std::int64_t count,
                   const std::function<double(std::int64_t index)>& value) {
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
    writer.append(stored.data(), static_cast<std::size_t>(size) * size_of(dtype));
  }
}

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
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
  std::int64_t fan_in = 1;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Random random(seed, i);
    const std::int64_t count = elements(specs[i].shape);
    if (specs[i].name.ends_with(".gamma")) {
      append_values(writer, dtype, count,
                    [&](std::int64_t k) { return 1 + 0.2 * random.normal(k); });
      continue;
    }
    // A bias follows its weight and shares its bound.
    if (specs[i].name.ends_with(".weight")) fan_in = count / specs[i].shape[0];
    const double bound = 1.2 / std::sqrt(static_cast<double>(fan_in));
    append_values(writer, dtype, count,
                  [&](std::int64_t k) { return bound * (2 * random.uniform(k) - 1); });
  }
  writer.finish();
  write_text(folder / "config.json", config_to_json(config).dump(2) + "\n");
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
