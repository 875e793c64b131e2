#include "pipeline/stages.h"

#include <utility>

#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/parallel.h"

namespace pantograph {
namespace {

void stop_if(const CancelToken& cancel) {
  if (cancel.cancelled()) fail(ErrorKind::kCancelled, "the generation was cancelled");
}

TensorView view_of(const std::shared_ptr<const EncodedText>& text) {
  if (text == nullptr) return {};
  const qwen35_text::HiddenStates& states = text->states;
  // Read only, as every input's view.
  return TensorView::dense(const_cast<float*>(states.values.data()), DType::kF32,
                           {states.tokens, states.hidden});
}

}  // namespace

TensorView Latents::view() const {
  return TensorView::dense(const_cast<float*>(values.data()), DType::kF32, shape);
}

EncodedPrompts encode_text(const GenerateRequest& request, const TextEncoder& text,
                           const StageOptions& options, const EncodedPrompts& before) {
  const auto encode = [&](const std::string& prompt) {
    return std::make_shared<const EncodedText>(
        text.encode(prompt, options.context, options.cancel));
  };
  EncodedPrompts prompts{.positive = encode(request.prompt)};
  if (request.guidance <= 1) return prompts;
  const bool known = before.negative && before.negative->prompt == request.negative_prompt;
  prompts.negative = known ? before.negative : encode(request.negative_prompt);
  return prompts;
}

Picture first_frame(const GenerateRequest& request) {
  Picture picture;
  PictureReader::open(request.image).next(picture);
  return covering(picture, request.height, request.width);
}

std::vector<float> condition(const GenerateRequest& request, const Vae& vae,
                             const StageOptions& options) {
  if (!request.has_first_frame()) return {};
  stop_if(options.cancel);
  const ThreadLimit threads(options.context.threads);
  std::vector<float> pixels = to_float(first_frame(request));
  EncodeSession session = vae.encode_session(request.height, request.width,
                                             {.scale = LatentScale::kNormalized,
                                              .clip_frames = 1,
                                              .memory_limit = options.memory_limit,
                                              .context = options.context,
                                              .cancel = options.cancel});
  std::vector<float> latents;
  session.push(TensorView::dense(pixels.data(), DType::kF32, {1, request.height, request.width, 3}),
               [&](const TensorView& frame) {
                 const auto* values = static_cast<const float*>(frame.data);
                 latents.assign(values, values + frame.elements());
               });
  session.finish();
  return latents;
}

Latents denoise(const GenerateRequest& request, const Pan2Model& model,
                const EncodedPrompts& prompts, std::vector<float> first_frame,
                const StageOptions& options, const SamplingCallbacks& callbacks) {
  const pan2_dit::LatentSize size =
      latent_size(model, request.frames, request.height, request.width);
  const std::int64_t channels = model.dit->config().out_channels;
  SamplingRequest sampling{.size = size,
                           .positive = view_of(prompts.positive),
                           .negative = view_of(prompts.negative),
                           .sampler = request.sampler,
                           .schedule = request.schedule,
                           .guidance = request.guidance,
                           .noise = seeded_noise(static_cast<std::uint64_t>(request.seed))};
  if (!first_frame.empty()) {
    sampling.first_frame =
        TensorView::dense(first_frame.data(), DType::kF32, {channels, 1, size.height, size.width});
  }
  return {.values = sample_latents(model.dit, model.scheduler, sampling, options.context,
                                   options.cancel, callbacks),
          .shape = {channels, size.frames, size.height, size.width}};
}

void save_latents(const Latents& latents, const std::filesystem::path& file) {
  SafetensorsWriter writer(file, {{"latents", DType::kF32, latents.shape}},
                           {{"latent_scale", "normalized"}});
  writer.append(latents.values.data(), latents.values.size() * sizeof(float));
  writer.finish();
}

DecodeStatistics decode(const Latents& latents, const Vae& vae, FrameSink& sink,
                        const StageOptions& options, const ProgressCallback& progress) {
  return vae.decode(latents.view(), sink,
                    {.scale = LatentScale::kNormalized,
                     .algorithm = options.algorithm,
                     .memory_limit = options.memory_limit,
                     .context = options.context,
                     .cancel = options.cancel},
                    progress);
}

}  // namespace pantograph
