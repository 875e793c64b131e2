// The checks that need no arithmetic: everything a person could have got wrong, found at once.
#include "core/check.h"
#include "core/temporary_file.h"
#include "pipeline/stages.h"

namespace pantograph {
namespace {

// `value` must be `offset` more than a multiple of `step`, and positive.
void require_on_grid(const char* what, std::int64_t value, std::int64_t step, std::int64_t offset) {
  const std::int64_t least = offset > 0 ? offset : step;
  if (value >= least && (value - offset) % step == 0) return;
  const std::int64_t below = value < least ? least : value - (value - offset) % step;
  fail(ErrorKind::kInvalidArgument, what, " is ", value, "; expected ",
       offset > 0 ? join(offset, " more than a multiple of ", step) : join("a multiple of ", step),
       ": the nearest ",
       value < least ? join("is ", least) : join("are ", below, " and ", below + step));
}

// Larger ones are mistakes; the product of three stays far from overflow.
constexpr std::int64_t kMostFrames = 1 << 20;
constexpr std::int64_t kMostSide = 1 << 14;

void require_at_most(const char* what, std::int64_t value, std::int64_t most) {
  if (value > most) fail(ErrorKind::kInvalidArgument, what, " is ", value, "; at most ", most);
}

void check_size(const GenerateRequest& request, const Pan2Model& model) {
  const VaeConfig& vae = model.vae.config();
  const auto& patch = model.dit->config().patch;
  require_at_most("frames", request.frames, kMostFrames);
  require_at_most("height", request.height, kMostSide);
  require_at_most("width", request.width, kMostSide);
  // Latent frames stand for 1, 4, 4, ... frames, and patches take patch[0] latent frames each.
  require_on_grid("frames", request.frames, vae.temporal_factor() * patch[0],
                  vae.temporal_factor() * (patch[0] - 1) + 1);
  require_on_grid("height", request.height, vae.spatial_factor() * patch[1], 0);
  require_on_grid("width", request.width, vae.spatial_factor() * patch[2], 0);
}

void check_outputs(const GenerateRequest& request) {
  if (!request.save_latents.empty()) {
    if (request.save_latents.extension() != ".safetensors") {
      fail(ErrorKind::kInvalidArgument, "latents are saved to NAME.safetensors, not to '",
           request.save_latents.string(), "'");
    }
    if (request.save_latents.lexically_normal() == request.output.lexically_normal()) {
      fail(ErrorKind::kInvalidArgument, "video and latents would both be written to ",
           request.output.string(), "; give each a name of its own");
    }
    const TemporaryOutput latents(request.save_latents);
  }
  // Standard output would get its header twice.
  if (request.output == "-") return;
  (void)open_video_writer(request.output, {request.frames, request.height, request.width},
                          request.video);
}

}  // namespace

void validate(const GenerateRequest& request, const Pan2Model& model, const StageOptions& options) {
  if (options.context.device.kind != DeviceKind::kCpu) {
    fail(ErrorKind::kUnsupported, "this version generates on a CPU only: --device cpu");
  }
  check_size(request, model);
  check_guidance(request.guidance);
  const Schedule schedule(request.schedule, model.scheduler);
  if (request.has_first_frame()) {
    (void)first_frame(request);
    (void)model.vae.encode_session(
        request.height, request.width,
        {.memory_limit = options.memory_limit, .context = options.context});
  }
  const pan2_dit::LatentSize size =
      latent_size(model, request.frames, request.height, request.width);
  (void)model.vae.plan(size.height, size.width,
                       {.algorithm = options.algorithm,
                        .memory_limit = options.memory_limit,
                        .context = options.context});
  check_outputs(request);
}

}  // namespace pantograph
