#include "models/wan_vae/pass_plan.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/memory.h"
#include "models/wan_vae/clip_length.h"

namespace pantograph::wan_vae {
namespace {

// What a decode takes by itself: beyond this, larger passes bring almost nothing.
constexpr std::size_t kUsualOnCpu = std::size_t{3} << 29;   // 1.5 GiB
constexpr std::size_t kUsualOnGpu = std::size_t{15} << 29;  // 7.5 GiB
// Where convolutions go through transforms, which read the history again for each pass: 16 GiB with
// the largest weights and the libraries.
constexpr std::size_t kUsualOnHopper = std::size_t{10} << 30;
constexpr std::int64_t kLongestSide = 1 << 16;              // oneDNN counts sides in 32 bits
constexpr std::size_t kLeftOnGpu = std::size_t{384} << 20;  // for libraries' code and workspaces

// For a session and its weights.
struct Room {
  std::size_t bytes = 0;
  bool limit = false;  // that all weights count in; of free memory those that are not there yet
};

// Passes that take the memory they would and touch none of it.
struct Planning {
  Planning(const ClipShape& of, ops::Thrift of_weights, std::size_t of_all)
      : clip(of),
        thrift(of_weights),
        limit(std::max<std::size_t>(of_all, 1)),
        state(goes_on(of.frames)),
        output(of.patch) {}
  // One that begins the clip and, if there can be one, one that goes on with it.
  void pass(const Decoder& decoder, const PassSize& size, std::int64_t frames) {
    const Pass pass{.ops = {.device = clip.device,
                            .arena = &arena,
                            .plans = &plans,
                            .planning = true,
                            .algorithm = clip.algorithm,
                            .thrift = thrift},
                    .state = &state,
                    .dtype = clip.dtype};
    for (const bool first : {true, false}) {
      if (!first && !goes_on(clip.frames)) break;
      arena.bind(nullptr, limit);
      decoder.decode(pass, size, placeholder(clip, frames), clip.scale, first,
                     [&](const Pass& p, const FramesView& patches) { output.emit(p, patches); });
      slab = std::max(slab, arena.compact().bytes());
    }
  }

  const ClipShape& clip;
  ops::Thrift thrift;
  std::size_t limit;
  Arena arena;
  std::size_t slab = 0;
  ops::PlanCache plans;
  CausalState state;
  FrameOutput output;
};

// Nothing where the passes need more room; planning stops there, for oneDNN can think for minutes
// about shapes that no machine holds.
std::optional<PassPlan> measure(const Decoder& decoder, const ClipShape& clip, const PassSize& size,
                                ops::Thrift thrift, const Room& room) {
  Planning planning(clip, thrift, room.bytes);
  try {
    for (std::int64_t frames = size.latent_frames; frames > 0; frames = shorter_pass(frames)) {
      planning.pass(decoder, size, frames);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOutOfMemory) throw;
    return std::nullopt;
  }
  const bool gpu = clip.device.kind == DeviceKind::kCuda;
  const std::size_t slab = planning.slab;
  const PassPlan plan{.size = size,
                      .thrift = thrift,
                      .bytes = slab + planning.state.bytes() + (gpu ? planning.output.bytes() : 0),
                      .slab_bytes = slab,
                      .weight_bytes = planning.plans.weight_bytes()};
  const std::size_t weights = room.limit ? plan.weight_bytes : planning.plans.bytes_to_pack();
  if (weights > room.bytes || plan.bytes > room.bytes - weights) return std::nullopt;
  return plan;
}

Room find_room(const Device& device, std::size_t limit) {
  const bool cpu = device.kind == DeviceKind::kCpu, limited = limit > 0;
  const std::size_t bytes = limited ? limit
                            : cpu   ? available_memory()
                                    : device::require_gpu(device.index).free_bytes;
  const std::size_t others = cpu ? 0 : (limited ? kLibrariesOnGpu : kLeftOnGpu);
  return {.bytes = bytes > others ? bytes - others : 0, .limit = limited};
}

// Whether weights are transformed, as large as memory allows.
bool is_fast(const ClipShape& clip) {
  return clip.device.kind == DeviceKind::kCuda && clip.dtype == DType::kBF16 &&
         clip.algorithm != Algorithm::kGeneral &&
         device::compute_capability(clip.device.index) == 90;
}

std::vector<ops::Thrift> thrifts(const ClipShape& clip) {
  if (!is_fast(clip)) return {ops::Thrift::kNone};
  return {ops::Thrift::kNone, ops::Thrift::kSome, ops::Thrift::kMost};
}

// What a session takes by itself.
std::size_t usual(const ClipShape& clip) {
  if (clip.device.kind == DeviceKind::kCpu) return kUsualOnCpu;
  return is_fast(clip) ? kUsualOnHopper : kUsualOnGpu;
}

// What to do where not even the shortest pass fits a limit.
std::string advise_limit(const Decoder& decoder, const ClipShape& clip, std::size_t limit) {
  constexpr std::size_t kFar = 4;  // times the limit: beyond it planning may take minutes
  const Room room = {.bytes = limit < SIZE_MAX / kFar ? kFar * limit : SIZE_MAX, .limit = true};
  const PassSize shortest = pass_sizes(clip.device.kind, clip.frames, 0).sizes.back();
  const auto plan = measure(decoder, clip, shortest, thrifts(clip).back(), room);
  if (!plan) return "allow more, or use smaller latents";
  const bool gpu = clip.device.kind == DeviceKind::kCuda;
  const std::size_t least = plan->bytes + plan->weight_bytes + (gpu ? kLibrariesOnGpu : 0);
  // A little more, for what is printed is rounded.
  return join(format_bytes(least + least / 20), " would do");
}

DType activation_type(const DecodeOptions& options) {
  const bool cpu = options.context.device.kind == DeviceKind::kCpu;
  if (options.precision == Precision::kBF16 && cpu) {
    fail(ErrorKind::kUnsupported,
         "a CPU decodes in f32 only; leave the precision out or use a GPU");
  }
  return cpu || options.precision == Precision::kF32 ? DType::kF32 : DType::kBF16;
}

}  // namespace

ClipShape clip_shape(const VaeConfig& config, std::int64_t height, std::int64_t width,
                     const DecodeOptions& options) {
  if (height < 1 || width < 1) {
    fail(ErrorKind::kInvalidArgument, "latents of ", height, " x ", width,
         "; height and width must be at least 1");
  }
  if (options.frames_per_pass < 0) {
    fail(ErrorKind::kInvalidArgument, options.frames_per_pass,
         " latent frames a pass; expected at least 1, or 0 to let the program choose");
  }
  check_clip_length(options.clip_frames, "latent frames");
  const Device& device = options.context.device;
  if (device.kind == DeviceKind::kCuda) device::require_gpu(device.index);
  return {.channels = config.latent_channels,
          .height = height,
          .width = width,
          .frames = options.clip_frames,
          .patch = config.patch_size,
          .scale = options.scale,
          .device = device,
          .dtype = activation_type(options),
          .algorithm = options.algorithm};
}

TensorView placeholder(const ClipShape& clip, std::int64_t frames) {
  return {.rank = 4, .shape = {clip.channels, frames, clip.height, clip.width}};
}

std::int64_t shorter_pass(std::int64_t frames) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(frames - 1)));
}

PassPlan choose_pass(const Decoder& decoder, const ClipShape& clip, std::int64_t frames_per_pass,
                     std::size_t limit) {
  if (clip.height > kLongestSide || clip.width > kLongestSide) {
    fail(ErrorKind::kInvalidArgument, "latents of ", clip.height, " x ", clip.width,
         "; height and width must be at most ", kLongestSide);
  }
  const device::CurrentDevice current(clip.device);
  const Room room = find_room(clip.device, limit);
  const auto fitting = [&](const PassSize& size, ops::Thrift thrift) {
    return measure(decoder, clip, size, thrift, room);
  };
  const bool cpu = clip.device.kind == DeviceKind::kCpu, limited = limit > 0;
  const auto plan = first_fitting(pass_sizes(clip.device.kind, clip.frames, frames_per_pass),
                                  thrifts(clip), limited ? limit : usual(clip), fitting);
  if (plan) return *plan;

  const std::int64_t asked = std::max<std::int64_t>(1, frames_per_pass);
  PassSizes shorter = pass_sizes(clip.device.kind, clip.frames, 0);
  std::erase_if(shorter.sizes, [&](const PassSize& size) { return size.latent_frames >= asked; });
  const auto other = first_fitting(shorter, {thrifts(clip).back()}, room.bytes, fitting);
  std::string advice = "use smaller latents or a device with more memory";
  if (other) {
    advice = join(other->size.latent_frames, " a pass would fit");
  } else if (limited) {
    advice = advise_limit(decoder, clip, limit);
  }
  const std::string where = limited ? "allowed"
                            : cpu   ? "available"
                                    : join("available on GPU ", clip.device.index);
  fail(ErrorKind::kOutOfMemory, "latents of ", clip.height, " x ", clip.width,
       " need more than the ", format_bytes(limited ? limit : room.bytes), " ", where,
       ", weights included, at ", asked,
       asked == 1 ? " latent frame a pass; " : " latent frames a pass; ", advice);
}

}  // namespace pantograph::wan_vae
