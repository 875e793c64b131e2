// From a PAN 2 checkpoint and prompts to video files: what `pantograph generate` does.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/generate_request.h"
#include "pipeline/stages.h"
#include "weights/lora.h"

namespace pantograph {

struct GenerateJob {
  std::filesystem::path model;  // see open_model_folder
  std::vector<LoraFile> adapters;
  GenerateSettings settings;      // the request, or what the lines of `prompts` have in common
  std::filesystem::path prompts;  // see read_prompts; empty: one request
  StageOptions stages;
};

struct StageSeconds {
  double encode_text = 0, condition = 0, denoise = 0, decode = 0, write = 0;
};

struct GeneratedVideo {
  GenerateRequest request;
  std::int64_t tokens = 0;      // of the prompt, as the DiT reads it
  std::int64_t tokens_cut = 0;  // that were too many
  std::vector<float> sigmas;    // of every step, and 0 at the end
  StageSeconds seconds;
};

struct GenerateSummary {
  double open_seconds = 0;  // the model, and checking the requests
  double total_seconds = 0;
  std::vector<GeneratedVideo> videos;
};

enum class Stage { kEncodeText, kCondition, kDenoise, kDecode };

struct GenerateProgress {
  std::size_t video = 0, videos = 0;  // which, from 0, of how many
  Stage stage = Stage::kEncodeText;
  // Steps when denoising, a begun one in part; frames when decoding.
  double done = 0;
  std::int64_t total = 0;  // 0 for the other stages, which are one piece
  double seconds = 0;      // since the stage began
};

struct GenerateCallbacks {
  std::function<void(const GenerateProgress&)> progress{};
  // What somebody should know who asked for something else: one line.
  std::function<void(const std::string&)> warning{};
  std::function<void(const GeneratedVideo&)> finished{};
};

// Opens the model once. Everything that can be wrong with any request is said before the first is
// begun; then the texts of all are encoded, so that the text tower can be let go before the first
// step. Videos that are finished when a later one fails stay; of the failing one no video does, but
// its saved latents do once they are whole.
GenerateSummary run_generate(const GenerateJob& job, const GenerateCallbacks& callbacks = {});

struct PlannedGeneration {
  GenerateRequest request;
  pan2_dit::LatentSize latents;
  std::int64_t video_tokens = 0;  // of one forward pass of the DiT
  std::vector<float> sigmas;
  DecodePlan decode;
};

// What run_generate would do, without doing it.
std::vector<PlannedGeneration> plan_generate(const GenerateJob& job);

}  // namespace pantograph
