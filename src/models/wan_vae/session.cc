#include "models/wan_vae/session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "core/convert.h"
#include "core/log.h"
#include "core/parallel.h"

namespace pantograph::wan_vae {
namespace {

// What a decode takes by itself on a CPU: beyond this, larger passes bring almost nothing there.
constexpr std::size_t kUsualMemory = std::size_t{3} << 29;  // 1.5 GiB
constexpr std::array<std::int64_t, 3> kLatentFrames = {4, 2, 1};
constexpr std::array<std::int64_t, 4> kGroupFrames = {0, 4, 2, 1};

// Latents of this shape that hold nothing, for planning.
TensorView placeholder(std::int64_t channels, std::int64_t frames, std::int64_t height,
                       std::int64_t width) {
  return TensorView::dense(nullptr, DType::kF32, {channels, frames, height, width});
}

}  // namespace

Session::Session(std::shared_ptr<const Decoder> decoder, const VaeConfig& config,
                 std::int64_t height, std::int64_t width, const DecodeOptions& options)
    : decoder_(std::move(decoder)),
      channels_(config.latent_channels),
      height_(height),
      width_(width),
      options_(options) {
  if (height < 1 || width < 1) {
    fail(ErrorKind::kInvalidArgument, "latents of ", height, " x ", width,
         "; height and width must be at least 1");
  }
  if (options.frames_per_pass < 0) {
    fail(ErrorKind::kInvalidArgument, options.frames_per_pass,
         " latent frames a pass; expected at least 1, or 0 to let the program choose");
  }
  if (options.context.device.kind != DeviceKind::kCpu) {
    fail(ErrorKind::kUnsupported, "this build decodes on the CPU only");
  }
  const ThreadLimit threads(options.context.threads);
  const bool limited = options.memory_limit > 0;
  choose_size(limited ? options.memory_limit : available_memory(), limited);
  plan_pass(size_.latent_frames, true);
  plan_pass(size_.latent_frames, false);
  state_.allocate(options_.context.allocator);
  slab_ = Buffer(arena_.peak(), options_.context.allocator);
  arena_.bind(slab_.data(), slab_.bytes());
  plans_.prepare();
}

std::size_t Session::measure(const PassSize& size) const {
  Arena arena;
  ops::PlanCache plans;
  CausalState state;
  const Pass pass{.ops = {.device = options_.context.device,
                          .arena = &arena,
                          .plans = &plans,
                          .planning = true},
                  .state = &state};
  for (const bool first : {true, false}) {
    decoder_->decode(pass, size, placeholder(channels_, size.latent_frames, height_, width_),
                     options_.scale, first, {});
  }
  return arena.peak() + state.bytes();
}

void Session::choose_size(std::size_t limit, bool limit_is_users) {
  const std::size_t wanted = limit_is_users ? limit : std::min(limit, kUsualMemory);
  std::size_t smallest = 0;
  const auto fits = [&](std::int64_t latent_frames, std::size_t bytes) {
    for (const std::int64_t group_frames : kGroupFrames) {
      size_ = {.latent_frames = latent_frames, .group_frames = group_frames};
      smallest = measure(size_);
      if (smallest <= bytes) return true;
    }
    return false;
  };
  if (options_.frames_per_pass > 0) {
    if (fits(options_.frames_per_pass, wanted) || fits(options_.frames_per_pass, limit)) return;
  } else {
    for (const std::int64_t latent_frames : kLatentFrames) {
      if (fits(latent_frames, wanted)) return;
    }
    if (fits(1, limit)) return;
  }
  const std::size_t needed = smallest;
  const std::int64_t asked = size_.latent_frames;
  std::string advice = "use smaller latents or a machine with more memory";
  for (const std::int64_t latent_frames : kLatentFrames) {
    if (latent_frames < asked && fits(latent_frames, limit)) {
      advice = join(latent_frames, " a pass would fit");
      break;
    }
  }
  fail(ErrorKind::kOutOfMemory, "latents of ", height_, " x ", width_, " need ",
       format_bytes(needed), " at ", asked, " latent frames a pass, and ", format_bytes(limit),
       limit_is_users ? " are allowed" : " are available", "; ", advice);
}

Pass Session::pass(bool planning) {
  return {.ops = {.device = options_.context.device,
                  .stream = options_.context.stream,
                  .arena = &arena_,
                  .plans = &plans_,
                  .planning = planning,
                  .cancel = &options_.cancel},
          .state = &state_};
}

void Session::plan_pass(std::int64_t frames, bool first) {
  decoder_->decode(pass(true), size_, placeholder(channels_, frames, height_, width_),
                   options_.scale, first, {});
}

void Session::check(const TensorView& latents) const {
  if (spent_) {
    fail(ErrorKind::kInvalidArgument, "this session ended with an error; make a new one");
  }
  if (latents.rank != 4 || latents.shape[0] != channels_) {
    fail(ErrorKind::kInvalidArgument, "a session takes latents [", channels_, ", n, ", height_,
         ", ", width_, "], not a tensor of ", latents.rank, " dimensions that begins with ",
         latents.rank > 0 ? latents.shape[0] : 0);
  }
  if (latents.shape[2] != height_ || latents.shape[3] != width_) {
    fail(ErrorKind::kInvalidArgument, "latents of ", latents.shape[2], " x ", latents.shape[3],
         " were pushed into a session made for ", height_, " x ", width_);
  }
  if (latents.device.kind != DeviceKind::kCpu) {
    fail(ErrorKind::kInvalidArgument, "latents must lie in host memory for a decode on the CPU");
  }
}

void Session::push(const TensorView& latents, FrameSink& sink) {
  check(latents);
  spent_ = true;  // until this push has succeeded
  const ThreadLimit threads(options_.context.threads);
  const std::int64_t frames = latents.shape[1];
  if (const auto bad = first_frame_not_finite(latents)) {
    fail(ErrorKind::kInvalidArgument, "latent frame ", pushed_ + *bad,
         " holds NaN or infinity; the video would be black from there on");
  }
  const Decoder::Emit emit = [&](const FramesView& pixels) {
    sink.write(TensorView::dense(pixels.data, DType::kF32,
                                 {pixels.frames, pixels.height, pixels.width, pixels.channels}));
  };
  for (std::int64_t begin = 0; begin < frames; begin += size_.latent_frames) {
    const std::int64_t count = std::min(size_.latent_frames, frames - begin);
    const bool first = pushed_ == 0;
    // A shorter pass takes no more memory than was planned, but its convolutions are new.
    arena_.bind(nullptr, 0);
    plan_pass(count, first);
    plans_.prepare();
    arena_.bind(slab_.data(), slab_.bytes());
    decoder_->decode(pass(false), size_, latents.slice(1, begin, count), options_.scale, first,
                     emit);
    pushed_ += count;
  }
  spent_ = false;
}

std::optional<std::int64_t> first_frame_not_finite(const TensorView& latents) {
  std::atomic<std::int64_t> first = latents.shape[1];
  const auto element = static_cast<std::int64_t>(size_of(latents.dtype));
  const auto* base = static_cast<const std::byte*>(latents.data);
  parallel_for(latents.shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t frame = begin; frame < end && frame < first; ++frame) {
      for (std::int64_t line = 0; line < latents.shape[0] * latents.shape[2]; ++line) {
        const std::int64_t at = line / latents.shape[2] * latents.strides[0] +
                                frame * latents.strides[1] +
                                line % latents.shape[2] * latents.strides[2];
        for (std::int64_t column = 0; column < latents.shape[3]; ++column) {
          float value;
          convert_to_f32(latents.dtype, base + (at + column * latents.strides[3]) * element, &value,
                         1);
          if (!std::isfinite(value)) {
            std::int64_t known = first;
            while (frame < known && !first.compare_exchange_weak(known, frame)) {
            }
          }
        }
      }
    }
  });
  if (first == latents.shape[1]) return std::nullopt;
  return first.load();
}

}  // namespace pantograph::wan_vae
