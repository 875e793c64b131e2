// From a checkpoint and files of latents to video files: what `pantograph decode` does.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pantograph/vae.h"
#include "pantograph/video_writer.h"

namespace pantograph {

struct DecodeJob {
  std::filesystem::path vae;
  std::vector<std::filesystem::path> latents;  // see find_latents
  std::optional<std::string> tensor;
  std::filesystem::path output;  // see name_outputs and open_video_writer
  VideoOptions video;
  DecodeOptions decode;
  // Where a clip does not fit the GPU of `decode`, all are decoded on the CPU, and that is said.
  bool or_on_cpu = false;
};

struct DecodedVideo {
  std::filesystem::path latents;
  std::filesystem::path output;
  VideoShape shape{};
  DecodeStatistics statistics{};
};

struct DecodeSummary {
  double open_seconds = 0;  // checkpoint and latents
  double total_seconds = 0;
  Device device{};
  std::vector<DecodedVideo> videos;
};

struct PlannedVideo {
  std::filesystem::path output;
  VideoShape shape;
  DecodePlan plan;
};

// `output` of video `index` of `count`: the name itself for one, else "name_0.mp4", "name_1.mp4",
// ...
std::filesystem::path numbered_output(const std::filesystem::path& output, std::size_t index,
                                      std::size_t count);

using FinishedCallback = std::function<void(const DecodedVideo&)>;

// Opens the model once. Everything that can be wrong with the request is said before the first
// pass. Videos that are finished when a later one fails stay; of the failing one nothing does.
DecodeSummary run_decode(const DecodeJob& job, const ProgressCallback& progress,
                         const FinishedCallback& finished = {});

// What run_decode would take, without decoding or writing.
std::vector<PlannedVideo> plan_decode(const DecodeJob& job);

}  // namespace pantograph
