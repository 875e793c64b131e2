#include "checkpoint/synthetic_writer.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/half.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/temporary_file.h"

namespace pantograph {
namespace {

constexpr std::int64_t kPiece = 1 << 20;  // elements made at a time

std::int64_t elements(const SyntheticTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.spec.shape) count *= size;
  return count;
}

std::int64_t bytes_of(const SyntheticTensor& tensor, DType dtype) {
  return elements(tensor) * static_cast<std::int64_t>(size_of(dtype));
}

// The first tensor of each shard, and the end.
std::vector<std::size_t> shard_bounds(const std::vector<SyntheticTensor>& tensors, DType dtype,
                                      std::int64_t shard_bytes) {
  std::vector<std::size_t> bounds = {0};
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t size = bytes_of(tensors[i], dtype);
    if (bytes > 0 && bytes + size > shard_bytes) {
      bounds.push_back(i);
      bytes = 0;
    }
    bytes += size;
  }
  bounds.push_back(tensors.size());
  return bounds;
}

std::string shard_name(const std::string& stem, std::size_t shard, std::size_t shards) {
  if (shards == 1) return stem + ".safetensors";
  char ending[64];
  std::snprintf(ending, sizeof(ending), "-%05zu-of-%05zu.safetensors", shard + 1, shards);
  return stem + ending;
}

}  // namespace

double fan_in(const TensorSpec& spec) {
  double product = 1;
  for (std::size_t i = 1; i < spec.shape.size(); ++i) {
    product *= static_cast<double>(spec.shape[i]);
  }
  return product;
}

std::int64_t weight_bytes(const SyntheticCheckpoint& checkpoint, DType dtype) {
  std::int64_t bytes = 0;
  for (const SyntheticTensor& tensor : checkpoint.tensors) bytes += bytes_of(tensor, dtype);
  return bytes;
}

void prepare_folder(const std::filesystem::path& folder, std::int64_t bytes) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::kIo, folder.string(), ": cannot make the folder: ", error.message());
  const bool empty = std::filesystem::is_empty(folder, error);
  if (error) fail(ErrorKind::kIo, folder.string(), ": cannot be read: ", error.message());
  if (!empty) {
    fail(ErrorKind::kInvalidArgument, folder.string(),
         ": the folder holds something already; name one that is empty or not there");
  }
  const std::uintmax_t available = std::filesystem::space(folder, error).available;
  if (!error && available < static_cast<std::uintmax_t>(bytes)) {
    fail(ErrorKind::kIo, folder.string(), ": the weights take ",
         format_bytes(static_cast<std::size_t>(bytes)), ", but the disk has only ",
         format_bytes(available), " free; name a folder on a larger one");
  }
}

void make_values(const SyntheticTensor& tensor, std::size_t index, const SyntheticOptions& options,
                 const std::function<void(const std::byte* data, std::size_t bytes)>& take) {
  const Random random(options.seed, index);
  const auto noise = [&](std::int64_t i) {
    const auto k = static_cast<std::uint64_t>(i);
    return tensor.distribution == Distribution::kNormal ? random.normal(k)
                                                        : 2 * random.uniform(k) - 1;
  };
  const std::int64_t count = elements(tensor);
  std::vector<float> values(static_cast<std::size_t>(std::min(count, kPiece)));
  std::vector<std::byte> stored(values.size() * size_of(options.dtype));
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    if (options.cancel.cancelled()) fail(ErrorKind::kCancelled, "the writing was cancelled");
    const std::int64_t size = std::min(kPiece, count - begin);
    parallel_for(size, 1 << 12, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const double value = tensor.mean + tensor.scale * noise(begin + i);
        values[static_cast<std::size_t>(i)] =
            bf16_to_float(float_to_bf16(static_cast<float>(value)));
      }
    });
    convert_from_f32(values.data(), options.dtype, stored.data(), size);
    take(stored.data(), static_cast<std::size_t>(size) * size_of(options.dtype));
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

void write_synthetic_checkpoint(const std::filesystem::path& folder,
                                const SyntheticCheckpoint& checkpoint,
                                const SyntheticOptions& options) {
  const std::int64_t total = weight_bytes(checkpoint, options.dtype);
  prepare_folder(folder, total);

  const std::vector<SyntheticTensor>& tensors = checkpoint.tensors;
  const std::vector<std::size_t> bounds = shard_bounds(tensors, options.dtype, options.shard_bytes);
  const std::size_t shards = bounds.size() - 1;
  Json::Object weight_map;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const std::string file = shard_name(checkpoint.stem, shard, shards);
    std::vector<NamedTensor> names;
    for (std::size_t i = bounds[shard]; i < bounds[shard + 1]; ++i) {
      const TensorSpec& spec = tensors[i].spec;
      names.push_back({spec.name, options.dtype, spec.shape});
      weight_map.emplace_back(spec.name, Json(file));
    }
    SafetensorsWriter writer(folder / file, names, {{"format", "pt"}});
    for (std::size_t i = bounds[shard]; i < bounds[shard + 1]; ++i) {
      make_values(tensors[i], i, options,
                  [&](const std::byte* data, std::size_t bytes) { writer.append(data, bytes); });
    }
    writer.finish();
  }
  if (shards > 1) {
    write_json(folder / (checkpoint.stem + ".safetensors.index.json"),
               Json(Json::Object{{"metadata", Json(Json::Object{{"total_size", Json(total)}})},
                                 {"weight_map", Json(weight_map)}}));
  }
  write_json(folder / "config.json", checkpoint.config);
}

}  // namespace pantograph
