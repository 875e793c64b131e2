#include "pipeline/convert_job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/temporary_file.h"
#include "models/wan_vae/checkpoint.h"
#include "models/wan_vae/config.h"
#include "models/wan_vae/native_names.h"
#include "pipeline/clip_files.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPiece = 1 << 20;  // elements converted at a time

DType dtype_of(const ConvertJob& job, const TensorView& view) {
  return job.dtype.value_or(view.dtype);
}

// Hands a tensor's elements over as `dtype`, in order, a piece at a time.
void convert(const std::string& name, const TensorView& view, DType dtype,
             const std::function<void(const std::byte*, std::size_t)>& take) {
  const auto* source = static_cast<const std::byte*>(view.data);
  if (dtype == view.dtype) return take(source, view.bytes());
  std::vector<float> values(static_cast<std::size_t>(std::min(view.elements(), kPiece)));
  std::vector<std::byte> converted(values.size() * size_of(dtype));
  std::vector<float> back(values.size());
  for (std::int64_t begin = 0; begin < view.elements(); begin += kPiece) {
    const std::int64_t count = std::min(kPiece, view.elements() - begin);
    convert_to_f32(view.dtype, source + static_cast<std::size_t>(begin) * size_of(view.dtype),
                   values.data(), count);
    convert_from_f32(values.data(), dtype, converted.data(), count);
    convert_to_f32(dtype, converted.data(), back.data(), count);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (std::isfinite(values[i]) && !std::isfinite(back[i])) {
        fail(ErrorKind::kInvalidArgument, name, " holds ", values[i], ", too large for ",
             to_string(dtype), "; choose another --dtype");
      }
    }
    take(converted.data(), static_cast<std::size_t>(count) * size_of(dtype));
  }
}

void stop_if_cancelled(const ConvertJob& job) {
  if (job.cancel.cancelled()) throw Error(ErrorKind::kCancelled, "the conversion was cancelled");
}

void write_weights(const ConvertJob& job, const Checkpoint& checkpoint, std::int64_t blocks,
                   const fs::path& path) {
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  if (job.form != CheckpointForm::kDiffusers) metadata[kConfigMetadata] = checkpoint.config.dump();
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const auto sizes = tensor.view.sizes();
    tensors.push_back(
        {.name = job.form == CheckpointForm::kNative ? wan_vae::native_name(name, blocks) : name,
         .dtype = dtype_of(job, tensor.view),
         .shape = {sizes.begin(), sizes.end()}});
  }
  SafetensorsWriter writer(path, tensors, metadata);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    stop_if_cancelled(job);
    convert(name, tensor.view, dtype_of(job, tensor.view),
            [&](const std::byte* bytes, std::size_t count) { writer.append(bytes, count); });
    tensor.file->release_pages(
        {static_cast<const std::byte*>(tensor.view.data), tensor.view.bytes()});
  }
  writer.finish();
}

void write_config(const Checkpoint& checkpoint, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  file << checkpoint.config.dump(2) << '\n';
  file.close();
  if (!file) fail(ErrorKind::kIo, path.string(), ": could not be written");
}

// Every tensor and the config arrived: the same names, shapes and converted bytes.
ConvertSummary compare(const ConvertJob& job, const Checkpoint& checkpoint,
                       const fs::path& written) {
  const Checkpoint arrived = wan_vae::open_vae_checkpoint(written);
  const auto refuse = [&job](const std::string& what) {
    fail(ErrorKind::kIo, job.output.string(), ": ", what,
         " did not arrive as it was written; the disk may be failing");
  };
  if (arrived.config.dump() != checkpoint.config.dump()) refuse("the config");
  if (arrived.tensors.size() != checkpoint.tensors.size()) refuse("the number of tensors");
  ConvertSummary summary;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    stop_if_cancelled(job);
    const auto found = arrived.tensors.find(name);
    if (found == arrived.tensors.end()) refuse(name);
    const TensorView& view = found->second.view;
    if (view.dtype != dtype_of(job, tensor.view) ||
        !std::equal(view.sizes().begin(), view.sizes().end(), tensor.view.sizes().begin(),
                    tensor.view.sizes().end())) {
      refuse(name);
    }
    const auto* read = static_cast<const std::byte*>(view.data);
    convert(name, tensor.view, view.dtype, [&](const std::byte* bytes, std::size_t count) {
      if (std::memcmp(read, bytes, count) != 0) refuse(name);
      read += count;
    });
    ++summary.tensors;
    summary.bytes += static_cast<std::int64_t>(view.bytes());
  }
  return summary;
}

}  // namespace

ConvertSummary run_convert(const ConvertJob& job) {
  const Checkpoint checkpoint = wan_vae::open_vae_checkpoint(job.input);
  const VaeConfig config =
      wan_vae::parse_config(checkpoint.config, wan_vae::config_place(checkpoint));
  const std::vector<std::string> problems = wan_vae::check_tensors(config, checkpoint);
  if (!problems.empty()) {
    fail(ErrorKind::kFormat, job.input.string(), ": ", problems.size(),
         " problems with its tensors, the first: ", problems.front());
  }
  refuse_overwriting(job.output, {job.input});
  std::error_code ignored;
  const bool folder = job.form == CheckpointForm::kDiffusers;
  if (fs::exists(job.output, ignored) && fs::is_directory(job.output, ignored) != folder) {
    fail(ErrorKind::kInvalidArgument, job.output.string(),
         folder ? ": is a file, and a diffusers checkpoint is a folder"
                : ": is a folder; expected the name of a file to write");
  }
  TemporaryOutput output(job.output);
  if (folder) {
    fs::create_directory(output.path(), ignored);
    write_weights(job, checkpoint, config.residual_blocks,
                  output.path() / "diffusion_pytorch_model.safetensors");
    write_config(checkpoint, output.path() / "config.json");
  } else {
    write_weights(job, checkpoint, config.residual_blocks, output.path());
  }
  const ConvertSummary summary = compare(job, checkpoint, output.path());
  output.commit();
  return summary;
}

}  // namespace pantograph
