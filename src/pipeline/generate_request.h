// One video that somebody asks for: what was said, and what that means with a preset's defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pantograph/video_writer.h"
#include "pipeline/presets.h"
#include "pipeline/scheduler.h"

namespace pantograph {

// As said, on a command line or in a line of a prompts file.
struct GenerateSettings {
  std::string place;  // "prompts.txt: line 3", before messages; empty for a command line
  std::string prompt;
  std::string negative_prompt;  // the text, or @FILE
  std::filesystem::path image;  // the first frame; empty: text-to-video
  std::optional<std::int64_t> frames, height, width, steps;
  std::optional<int> frames_per_second;
  std::vector<double> sigmas;  // in the place of steps
  std::optional<double> shift, guidance;
  std::int64_t seed = 0;  // not negative
  std::optional<Sampler> sampler;
  std::filesystem::path output;        // see open_video_writer
  std::filesystem::path save_latents;  // .safetensors; empty: not kept
  VideoOptions video;                  // frames_per_second is taken from above
};

// With every number known.
struct GenerateRequest {
  std::string_view preset;
  std::string place;
  std::string prompt, negative_prompt;
  std::filesystem::path image;
  std::int64_t frames = 0, height = 0, width = 0;
  ScheduleRequest schedule{};
  double guidance = 0;
  std::int64_t seed = 0;             // not negative
  std::optional<Sampler> sampler{};  // in the place of the scheduler config's
  std::filesystem::path output, save_latents;
  VideoOptions video;

  [[nodiscard]] bool has_first_frame() const { return !image.empty(); }
};

// pan2_i2v's defaults where there is an image, else pan2_t2v's. Reads @FILE. Throws Error: what
// reading does.
GenerateRequest make_request(const GenerateSettings& settings);

}  // namespace pantograph
