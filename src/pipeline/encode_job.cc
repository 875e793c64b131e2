#include "pipeline/encode_job.h"

#include <optional>
#include <vector>

#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/stopwatch.h"
#include "media/picture.h"

namespace pantograph {
namespace {

// Latent frames as they come, [C, m, h, w] each. Small enough to be kept: a 48th of the pixels.
class LatentCollector {
 public:
  [[nodiscard]] LatentCallback callback() {
    return [this](const TensorView& latents) { take(latents); };
  }

  void write(const std::filesystem::path& path, DType dtype) const {
    const auto channels = static_cast<std::int64_t>(channels_.size());
    SafetensorsWriter writer(path, {{"latents", dtype, {channels, frames, height, width}}});
    std::vector<std::byte> stored;
    for (const std::vector<float>& channel : channels_) {
      stored.resize(channel.size() * size_of(dtype));
      convert_from_f32(channel.data(), dtype, stored.data(),
                       static_cast<std::int64_t>(channel.size()));
      writer.append(stored.data(), stored.size());
    }
    writer.finish();
  }

  std::int64_t frames = 0, height = 0, width = 0;

 private:
  void take(const TensorView& latents) {
    channels_.resize(static_cast<std::size_t>(latents.shape[0]));
    frames += latents.shape[1];
    height = latents.shape[2];
    width = latents.shape[3];
    const std::int64_t size = latents.shape[1] * height * width;
    const auto* values = static_cast<const float*>(latents.data);
    for (std::vector<float>& channel : channels_) {
      channel.insert(channel.end(), values, values + size);
      values += size;
    }
  }

  std::vector<std::vector<float>> channels_;
};

void check_output(const EncodeJob& job) {
  if (job.output.extension() != ".safetensors") {
    fail(ErrorKind::kInvalidArgument, "latents are written to NAME.safetensors, not to '",
         job.output.string(), "'");
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(job.output, job.input, ignored)) {
    fail(ErrorKind::kInvalidArgument, job.output.string(), " is the input; choose another output");
  }
}

}  // namespace

EncodeSummary run_encode(const EncodeJob& job, const ProgressCallback& progress) {
  const Clock::time_point begin = Clock::now();
  check_output(job);
  PictureReader reader = PictureReader::open(job.input);
  const Vae vae = Vae::open(job.vae, job.encode.context);
  LatentCollector latents;
  std::optional<EncodeSession> session;
  EncodeSummary summary;
  Picture picture, following;
  for (bool more = reader.next(picture); more; std::swap(picture, following)) {
    more = reader.next(following);
    if (!session) {
      EncodeOptions options = job.encode;
      options.clip_frames = more ? 0 : 1;
      session = vae.encode_session(picture.height, picture.width, options);
    }
    std::vector<float> pixels = to_float(picture);
    session->push(
        TensorView::dense(pixels.data(), DType::kF32, {1, picture.height, picture.width, 3}),
        latents.callback());
    summary.height = picture.height;
    summary.width = picture.width;
    ++summary.frames;
    if (progress) progress({.frames_done = summary.frames, .seconds = seconds_since(begin)});
  }
  session->finish();
  latents.write(job.output, job.dtype);
  summary.latent_frames = latents.frames;
  summary.latent_height = latents.height;
  summary.latent_width = latents.width;
  summary.seconds = seconds_since(begin);
  return summary;
}

}  // namespace pantograph
