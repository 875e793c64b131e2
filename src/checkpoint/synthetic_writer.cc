#include "checkpoint/synthetic_writer.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/half.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/temporary_file.h"

namespace pantograph {
namespace {

constexpr std::int64_t kPiece = 1 << 20;  // elements made at a time

std::int64_t elements(const TensorSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t size : spec.shape) count *= size;
  return count;
}

// `index` is the tensor's place in the whole list: its values do not depend on the sharding.
void append_values(SafetensorsWriter& writer, const SyntheticTensor& tensor, std::uint64_t seed,
                   std::uint64_t index, DType dtype) {
  const Random random(seed, index);
  const std::int64_t count = elements(tensor.spec);
  std::vector<float> values(static_cast<std::size_t>(std::min(count, kPiece)));
  std::vector<std::byte> stored(values.size() * size_of(dtype));
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    parallel_for(size, 1 << 12, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const double normal = random.normal(static_cast<std::uint64_t>(begin + i));
        const double value = tensor.mean + tensor.deviation * normal;
        values[static_cast<std::size_t>(i)] =
            bf16_to_float(float_to_bf16(static_cast<float>(value)));
      }
    });
    convert_from_f32(values.data(), dtype, stored.data(), size);
    writer.append(stored.data(), static_cast<std::size_t>(size) * size_of(dtype));
  }
}

void write_json(const std::filesystem::path& path, const Json& json) {
  TemporaryOutput output(path);
  std::ofstream file(output.path(), std::ios::binary);
  file << json.dump(2) << "\n";
  file.close();
  if (!file) fail(ErrorKind::kIo, path.string(), ": could not be written");
  output.commit();
}

// The first tensor of each shard, and the end.
std::vector<std::size_t> shard_bounds(const std::vector<SyntheticTensor>& tensors, DType dtype,
                                      std::int64_t shard_bytes) {
  std::vector<std::size_t> bounds = {0};
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t size = elements(tensors[i].spec) * static_cast<std::int64_t>(size_of(dtype));
    if (bytes > 0 && bytes + size > shard_bytes) {
      bounds.push_back(i);
      bytes = 0;
    }
    bytes += size;
  }
  bounds.push_back(tensors.size());
  return bounds;
}

std::string shard_name(std::size_t shard, std::size_t shards) {
  if (shards == 1) return "diffusion_pytorch_model.safetensors";
  char name[96];
  std::snprintf(name, sizeof(name), "diffusion_pytorch_model-%05zu-of-%05zu.safetensors", shard + 1,
                shards);
  return name;
}

}  // namespace

void write_synthetic_checkpoint(const std::filesystem::path& folder, const Json& config,
                                const std::vector<SyntheticTensor>& tensors, std::uint64_t seed,
                                DType dtype, std::int64_t shard_bytes) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::kIo, folder.string(), ": cannot make the folder: ", error.message());

  const std::vector<std::size_t> bounds = shard_bounds(tensors, dtype, shard_bytes);
  const std::size_t shards = bounds.size() - 1;
  Json::Object weight_map;
  std::int64_t total = 0;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    std::vector<NamedTensor> names;
    for (std::size_t i = bounds[shard]; i < bounds[shard + 1]; ++i) {
      const TensorSpec& spec = tensors[i].spec;
      names.push_back({spec.name, dtype, spec.shape});
      weight_map.emplace_back(spec.name, Json(shard_name(shard, shards)));
      total += elements(spec) * static_cast<std::int64_t>(size_of(dtype));
    }
    SafetensorsWriter writer(folder / shard_name(shard, shards), names, {{"format", "pt"}});
    for (std::size_t i = bounds[shard]; i < bounds[shard + 1]; ++i) {
      append_values(writer, tensors[i], seed, i, dtype);
    }
    writer.finish();
  }
  if (shards > 1) {
    write_json(folder / "diffusion_pytorch_model.safetensors.index.json",
               Json(Json::Object{{"metadata", Json(Json::Object{{"total_size", Json(total)}})},
                                 {"weight_map", Json(weight_map)}}));
  }
  write_json(folder / "config.json", config);
}

}  // namespace pantograph
