#include "pipeline/sample_latents.h"

#include <algorithm>

#include "core/check.h"
#include "core/parallel.h"
#include "core/text.h"

namespace pantograph {
namespace {

// What the model is told of the clip besides the noisy latents: zeros without a first frame.
struct Conditioning {
  std::vector<float> latents;  // [channels, T, h, w]
  std::vector<float> mask;     // [1, T, h, w]
};

Conditioning condition(const LatentLayout& layout, const std::optional<TensorView>& first_frame) {
  Conditioning result{
      .latents = std::vector<float>(static_cast<std::size_t>(layout.elements())),
      .mask = std::vector<float>(static_cast<std::size_t>(layout.frames * layout.frame_elements))};
  if (!first_frame) return result;
  const auto* values = static_cast<const float*>(first_frame->data);
  for (std::int64_t c = 0; c < layout.channels; ++c) {
    std::copy_n(values + c * layout.frame_elements, layout.frame_elements,
                result.latents.data() + c * layout.frames * layout.frame_elements);
  }
  std::fill_n(result.mask.data(), layout.frame_elements, 1.0F);
  return result;
}

}  // namespace

void check_request(const SamplingRequest& request, const pan2_dit::Config& dit,
                   const SchedulerConfig& scheduler) {
  check_guidance(request.guidance);
  const Schedule schedule(request.schedule, scheduler);
  if (request.first_frame) {
    const TensorView& frame = *request.first_frame;
    const std::vector<std::int64_t> expected = {dit.out_channels, 1, request.size.height,
                                                request.size.width};
    if (!std::equal(expected.begin(), expected.end(), frame.sizes().begin(), frame.sizes().end()) ||
        frame.dtype != DType::kF32 || !frame.is_dense()) {
      fail(ErrorKind::kInvalidArgument, "the first frame's latents are ", to_string(frame.dtype),
           " ", shape_text(frame.sizes()), ", expected f32 ", shape_text(expected));
    }
  }
}

std::vector<float> sample_latents(const std::shared_ptr<const pan2_dit::Dit>& dit,
                                  const SchedulerConfig& scheduler, const SamplingRequest& request,
                                  const ExecutionContext& context, const CancelToken& cancel,
                                  const SamplingCallbacks& callbacks) {
  const pan2_dit::Config& config = dit->config();
  check_request(request, config, scheduler);
  pan2_dit::Session session(dit, request.size, context, cancel);
  const LatentLayout layout{.channels = config.out_channels,
                            .frames = request.size.frames,
                            .frame_elements = request.size.height * request.size.width};
  const bool guided = request.guidance > 1;
  const pan2_dit::RefinedText positive = session.refine(request.positive);
  const pan2_dit::RefinedText negative =
      guided ? session.refine(request.negative) : pan2_dit::RefinedText();
  const Conditioning conditioning = condition(layout, request.first_frame);

  const auto predict = [&](Branch branch, std::span<const float> latents, float timestep,
                           std::span<float> velocity) {
    const bool second = branch == Branch::kNegative;
    session.forward({.noisy = latents.data(),
                     .conditioning = conditioning.latents.data(),
                     .mask = conditioning.mask.data(),
                     .text = second ? &negative : &positive,
                     .timestep = timestep},
                    velocity.data(), [&](std::int64_t done, std::int64_t total, const RowsView&) {
                      if (!callbacks.on_block) return;
                      callbacks.on_block(second ? total + done : done, guided ? 2 * total : total);
                    });
  };
  const ThreadLimit threads(context.threads);
  std::vector<float> latents(static_cast<std::size_t>(layout.elements()));
  request.noise(0, latents);
  denoise(Schedule(request.schedule, scheduler),
          {.sampler = request.sampler.value_or(scheduler.sampler),
           .guidance = request.guidance,
           .has_first_frame = request.first_frame.has_value(),
           .noise = request.noise,
           .on_step = callbacks.on_step,
           .cancel = cancel},
          layout, predict, latents);
  return latents;
}

}  // namespace pantograph
