#include "models/wan_vae/pass_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "core/memory.h"

namespace pantograph::wan_vae {
namespace {

// What a decode takes by itself: beyond this, larger passes bring almost nothing.
constexpr std::size_t kUsualOnCpu = std::size_t{3} << 29;   // 1.5 GiB
constexpr std::size_t kUsualOnGpu = std::size_t{15} << 29;  // 7.5 GiB
// Where convolutions go through transforms, which read the history again for each pass.
constexpr std::size_t kUsualOnHopper = std::size_t{23} << 29;  // 11.5 GiB
constexpr std::int64_t kLongestSide = 1 << 16;                 // oneDNN counts sides in 32 bits
constexpr std::size_t kLeftOnGpu = std::size_t{384} << 20;     // for libraries' code and workspaces

// Fastest first. On a CPU few latent frames fill it, and memory is better spent on one group of all
// their frames. On a GPU the low resolutions want many latent frames, and groups of a few frames
// would mostly move history around.
constexpr std::array<PassSize, 12> kOnCpu = {{{4, 0},
                                              {4, 4},
                                              {4, 2},
                                              {4, 1},
                                              {2, 0},
                                              {2, 4},
                                              {2, 2},
                                              {2, 1},
                                              {1, 0},
                                              {1, 4},
                                              {1, 2},
                                              {1, 1}}};
constexpr std::array<PassSize, 9> kOnGpu = {
    {{8, 8}, {4, 8}, {4, 4}, {2, 4}, {1, 4}, {4, 2}, {2, 2}, {1, 2}, {1, 1}}};
constexpr std::array<std::int64_t, 5> kGroupFrames = {0, 8, 4, 2, 1};

std::vector<PassSize> candidates(const ClipShape& clip, std::int64_t frames_per_pass) {
  std::vector<PassSize> sizes;
  const bool cpu = clip.device.kind == DeviceKind::kCpu;
  if (frames_per_pass > 0) {
    for (const std::int64_t group : kGroupFrames) {
      if (cpu || group > 0) sizes.push_back({frames_per_pass, group});
    }
  } else if (cpu) {
    sizes.assign(kOnCpu.begin(), kOnCpu.end());
  } else {
    sizes.assign(kOnGpu.begin(), kOnGpu.end());
  }
  if (clip.frames > 0) {
    for (PassSize& size : sizes) size.latent_frames = std::min(size.latent_frames, clip.frames);
  }
  return sizes;
}

struct Room {
  std::size_t bytes = 0;
  bool weights_too = false;  // those that are not packed yet take their share
};

// Passes that take the memory they would and touch none of it.
struct Planning {
  Planning(const ClipShape& of, std::size_t limit) : clip(of), output(of.patch) {
    arena.bind(nullptr, limit);
  }
  // One that begins the clip, and one that goes on with it.
  void pass(const Decoder& decoder, const PassSize& size, std::int64_t frames) {
    const Pass pass{.ops = {.device = clip.device,
                            .arena = &arena,
                            .plans = &plans,
                            .planning = true,
                            .algorithm = clip.algorithm},
                    .state = &state,
                    .dtype = clip.dtype};
    for (const bool first : {true, false}) {
      decoder.decode(pass, size, placeholder(clip, frames), clip.scale, first,
                     [&](const Pass& p, const FramesView& patches) { output.emit(p, patches); });
    }
  }

  const ClipShape& clip;
  Arena arena;
  ops::PlanCache plans;
  CausalState state;
  FrameOutput output;
};

// Nothing where the passes need more room; planning stops there, for oneDNN can think for minutes
// about shapes that no machine holds.
std::optional<PassPlan> measure(const Decoder& decoder, const ClipShape& clip, const PassSize& size,
                                const Room& room) {
  Planning planning(clip, room.bytes);
  try {
    for (std::int64_t frames = size.latent_frames; frames > 0; frames = shorter_pass(frames)) {
      planning.pass(decoder, size, frames);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOutOfMemory) throw;
    return std::nullopt;
  }
  const bool gpu = clip.device.kind == DeviceKind::kCuda;
  const std::size_t slab = planning.arena.peak();
  const std::size_t bytes = slab + planning.state.bytes() + (gpu ? planning.output.bytes() : 0);
  const std::size_t weights = room.weights_too ? planning.plans.bytes_to_pack() : 0;
  if (weights > room.bytes || bytes > room.bytes - weights) return std::nullopt;
  return PassPlan{.size = size, .bytes = bytes, .slab_bytes = slab};
}

std::size_t free_memory(const Device& device, std::size_t reserved) {
  const bool cpu = device.kind == DeviceKind::kCpu;
  const std::size_t free = cpu ? available_memory() : device::require_gpu(device.index).free_bytes;
  const std::size_t taken = reserved + (cpu ? 0 : kLeftOnGpu);
  return free > taken ? free - taken : 0;
}

// What a decode takes by itself.
std::size_t usual(const ClipShape& clip) {
  if (clip.device.kind == DeviceKind::kCpu) return kUsualOnCpu;
  const bool hopper = device::compute_capability(clip.device.index) == 90;
  const bool fast = hopper && clip.dtype == DType::kBF16 && clip.algorithm != Algorithm::kGeneral;
  return fast ? kUsualOnHopper : kUsualOnGpu;
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
  if (options.clip_frames < 0) {
    fail(ErrorKind::kInvalidArgument, "a clip of ", options.clip_frames,
         " latent frames; expected at least 1, or 0 where it is not known");
  }
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

std::size_t weights_on_gpu(const Decoder& decoder, const ClipShape& clip) {
  Planning planning(clip, 0);
  planning.pass(decoder, {.latent_frames = 1, .group_frames = 1}, 1);
  return planning.plans.weight_bytes();
}

TensorView placeholder(const ClipShape& clip, std::int64_t frames) {
  return {.rank = 4, .shape = {clip.channels, frames, clip.height, clip.width}};
}

std::int64_t shorter_pass(std::int64_t frames) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(frames - 1)));
}

PassPlan choose_pass(const Decoder& decoder, const ClipShape& clip, std::int64_t frames_per_pass,
                     std::size_t limit, std::size_t reserved) {
  if (clip.height > kLongestSide || clip.width > kLongestSide) {
    fail(ErrorKind::kInvalidArgument, "latents of ", clip.height, " x ", clip.width,
         "; height and width must be at most ", kLongestSide);
  }
  const bool cpu = clip.device.kind == DeviceKind::kCpu;
  const bool limited = limit > 0;
  const std::string where = limited ? "allowed"
                            : cpu   ? "available, weights included,"
                                    : join("available on GPU ", clip.device.index);
  const std::size_t most = limited ? limit : free_memory(clip.device, reserved);
  const Room room = {.bytes = most, .weights_too = !limited};
  const std::size_t wanted = limited ? limit : std::min(most, usual(clip));
  std::optional<PassPlan> smallest;
  for (const PassSize& size : candidates(clip, frames_per_pass)) {
    const auto plan = measure(decoder, clip, size, room);
    if (plan && plan->bytes <= wanted) return *plan;
    if (plan && (!smallest || plan->bytes < smallest->bytes)) smallest = plan;
  }
  if (smallest) return *smallest;

  const std::int64_t asked = std::max<std::int64_t>(1, frames_per_pass);
  std::string advice = "use smaller latents or a device with more memory";
  for (const PassSize& size : candidates(clip, 0)) {
    if (size.latent_frames < asked && measure(decoder, clip, size, room)) {
      advice = join(size.latent_frames, " a pass would fit");
      break;
    }
  }
  fail(ErrorKind::kOutOfMemory, "latents of ", clip.height, " x ", clip.width,
       " need more than the ", format_bytes(most), " ", where, " at ", asked,
       asked == 1 ? " latent frame a pass; " : " latent frames a pass; ", advice);
}

}  // namespace pantograph::wan_vae
