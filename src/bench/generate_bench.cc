#include "bench/generate_bench.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "bench/seconds.h"
#include "core/check.h"
#include "core/parallel.h"
#include "core/stopwatch.h"
#include "core/temporary_file.h"
#include "models/pan2/synthetic.h"
#include "pipeline/stages.h"

namespace pantograph::bench {
namespace {

constexpr const char* kPrompt =
    "A red fox crosses a frozen river at dawn. Low mist drifts over the ice, birches stand along "
    "the bank, and the first light catches the breath of the fox as it stops, listens and looks "
    "back. The camera follows slowly at the height of its shoulder, then rises until the river is "
    "a white line between dark woods.";

// The text of the negative prompt is as long as the one that the release sends.
constexpr const char* kNegativePrompt =
    "Blurred, overexposed, static, low quality, with subtitles, watermarks, a cluttered background "
    "and many people walking backwards.";

// Takes frames as a player would, and looks at every value.
class CheckingSink final : public FrameSink {
 public:
  void write(const TensorView& frames) override {
    const auto* values = static_cast<const float*>(frames.data);
    const bool finite = std::all_of(values, values + frames.elements(),
                                    [](float value) { return std::isfinite(value); });
    require(finite, "a frame holds a value that is not finite");
  }
};

// Seconds, in the order measured.
struct StageTimes {
  std::vector<double> text, step, decode;
  std::int64_t text_tokens = 0, negative_tokens = 0;
};

void generate(const GenerateRequest& request, const Pan2Model& model, const StageOptions& options,
              StageTimes& times) {
  Clock::time_point begin = Clock::now();
  const EncodedPrompts prompts = encode_text(request, *model.text, options);
  times.text.push_back(seconds_since(begin));
  times.text_tokens = prompts.positive->states.tokens;
  times.negative_tokens = prompts.negative->states.tokens;
  const Latents latents = denoise(
      request, model, prompts, {}, options,
      {.on_step = [&](const StepProgress& step) { times.step.push_back(step.step_seconds); }});
  CheckingSink sink;
  begin = Clock::now();
  decode(latents, model.vae, sink, options);
  times.decode.push_back(seconds_since(begin));
}

Json summary(const std::vector<double>& seconds) {
  Json::Object result;
  add_seconds(result, "seconds", seconds);
  return Json(std::move(result));
}

}  // namespace

Json run(const GenerateBench& options, const std::function<void(const std::string&)>& say) {
  const TemporaryOutput made(std::filesystem::temp_directory_path() / "pantograph-bench");
  if (options.model.empty()) {
    pan2::make_checkpoint(made.path(), pan2::Size::kTiny,
                          {.dtype = DType::kBF16, .cancel = options.cancel});
  }
  const Pan2Model model = open_pan2(options.model.empty() ? made.path() : options.model);
  const GenerateRequest request = make_request({.prompt = kPrompt,
                                                .negative_prompt = kNegativePrompt,
                                                .frames = options.frames,
                                                .height = options.height,
                                                .width = options.width,
                                                .steps = options.steps,
                                                .output = "-"});  // not read: frames are dropped
  const StageOptions stage{.context = {.threads = options.threads}, .cancel = options.cancel};
  validate(request, model, stage);

  StageTimes first, times;
  for (int run = 0; run <= options.runs; ++run) {
    const Clock::time_point begin = Clock::now();
    generate(request, model, stage, run == 0 ? first : times);
    say(join(run == 0 ? "warm-up" : join("run ", run), ": ", seconds_since(begin), " s"));
  }
  return Json(Json::Object{
      {"model",
       Json(options.model.empty() ? std::string("tiny synthetic") : options.model.string())},
      {"threads", Json(std::int64_t{options.threads == 0 ? available_cores() : options.threads})},
      {"prompt", Json(request.prompt)},
      {"negative_prompt", Json(request.negative_prompt)},
      {"text_tokens", Json(times.text_tokens)},
      {"negative_tokens", Json(times.negative_tokens)},
      {"frames", Json(request.frames)},
      {"height", Json(request.height)},
      {"width", Json(request.width)},
      {"steps", Json(options.steps)},
      {"guidance", Json(request.guidance)},
      {"text", summary(times.text)},
      {"step", summary(times.step)},
      {"decode", summary(times.decode)}});
}

}  // namespace pantograph::bench
