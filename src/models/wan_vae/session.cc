#include "models/wan_vae/session.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/convert.h"
#include "core/log.h"
#include "core/parallel.h"
#include "core/stopwatch.h"
#include "models/wan_vae/clip_length.h"
#include "ops/cuda.h"

namespace pantograph::wan_vae {
Session::Session(std::shared_ptr<const Decoder> decoder, const VaeConfig& config,
                 std::int64_t height, std::int64_t width, const DecodeOptions& options)
    : decoder_(std::move(decoder)),
      clip_(clip_shape(config, height, width, options)),
      options_(options),
      state_(goes_on(clip_.frames)),
      output_(config.patch_size) {
  const bool gpu = clip_.device.kind == DeviceKind::kCuda;
  const device::CurrentDevice current(clip_.device);
  const ThreadLimit threads(options.context.threads);
  if (gpu && options_.context.stream == nullptr) {
    own_stream_ = device::Stream(device::create_stream());
    options_.context.stream = own_stream_.get();
  }
  plan_ = choose_pass(*decoder_, clip_, options_.frames_per_pass, options_.memory_limit);
  plan_passes();
  if (gpu) load_weights();
  state_.allocate(options_.context);
  slab_ = device::Memory(clip_.device, plan_.slab_bytes, options_.context.allocator,
                         options_.context.stream, device::Fill::kNone);
  if (gpu) output_.allocate(options_.context);
  arena_.bind(slab_.data(), slab_.bytes());
  prepare();
  decoder_->warm_up(pass(plans_, false), clip_.height, clip_.width);
  std::string names;
  for (const std::string& name : plans_.costly_by()) names += (names.empty() ? "" : ", ") + name;
  log(LogLevel::kInfo, "convolutions of the residual blocks: ", names);
  if (const auto& reason = plans_.slow_because()) {
    log(LogLevel::kWarning, "decoding without tensor cores, many times slower: ", *reason);
  }
}

// Nothing on the GPU may still use what is given back.
Session::~Session() {
  if (clip_.device.kind == DeviceKind::kCuda) {
    device::synchronize_nothrow(options_.context.stream);
  }
}

// Before the session takes memory of its own: transforming weights takes some, and they stay.
void Session::load_weights() {
  const Clock::time_point begin = Clock::now();
  const bool short_of_memory = options_.memory_limit > 0 || plan_.thrift != ops::Thrift::kNone;
  if (short_of_memory) plans_.drop_other_weights();
  plans_.load_weights();
  weight_seconds_ = seconds_since(begin);
}

Pass Session::pass(ops::PlanCache& plans, bool planning) {
  return {.ops = {.device = clip_.device,
                  .stream = options_.context.stream,
                  .arena = &arena_,
                  .plans = &plans,
                  .planning = planning,
                  .algorithm = clip_.algorithm,
                  .thrift = plan_.thrift,
                  .cancel = &options_.cancel},
          .state = &state_,
          .dtype = clip_.dtype};
}

// History and output are as large as whole passes make them. Convolutions are made ready for the
// passes that will run, as far as that is known: together, because some are chosen and compiled.
void Session::plan_passes() {
  ops::PlanCache unused;
  for (const bool first : {true, false}) {
    if (!first && !goes_on(clip_.frames)) break;
    if (clip_.frames > 0) {
      plan_pass(unused, plan_.size.latent_frames, first);
    } else {
      layout(plan_.size.latent_frames, first);
    }
  }
  for (std::int64_t begin = 0, count = 0; begin < clip_.frames; begin += count) {
    count = next_pass(clip_.frames - begin);
    layout(count, begin == 0);
  }
}

// Whole passes, and before them what is left over, in powers of two from the shortest on: whoever
// waits for frames, an encoder or a person, gets the first ones soon.
std::int64_t Session::next_pass(std::int64_t frames_left) const {
  const std::int64_t rest = frames_left % plan_.size.latent_frames;
  return rest == 0 ? plan_.size.latent_frames : rest & -rest;
}

void Session::plan_pass(ops::PlanCache& plans, std::int64_t frames, bool first) {
  arena_.bind(nullptr, 0);
  decoder_->decode(pass(plans, true), plan_.size, placeholder(clip_, frames), clip_.scale, first,
                   [&](const Pass& p, const FramesView& patches) { output_.emit(p, patches); });
}

const Arena::Layout& Session::layout(std::int64_t frames, bool first) {
  const auto known = layouts_.find({frames, first});
  if (known != layouts_.end()) return known->second;
  plan_pass(plans_, frames, first);
  return layouts_.emplace(std::pair(frames, first), arena_.compact()).first->second;
}

void Session::prepare() {
  plans_.prepare({.data = slab_.data(), .bytes = slab_.bytes(), .stream = options_.context.stream});
}

void Session::check(const TensorView& latents) const {
  if (latents.rank != 4 || latents.shape[0] != clip_.channels) {
    fail(ErrorKind::kInvalidArgument, "a session takes latents [", clip_.channels, ", n, ",
         clip_.height, ", ", clip_.width, "], not a tensor of ", latents.rank,
         " dimensions that begins with ", latents.rank > 0 ? latents.shape[0] : 0);
  }
  if (latents.shape[1] < 0) {
    fail(ErrorKind::kInvalidArgument, "latents of ", latents.shape[1], " frames were pushed");
  }
  if (latents.shape[2] != clip_.height || latents.shape[3] != clip_.width) {
    fail(ErrorKind::kInvalidArgument, "latents of ", latents.shape[2], " x ", latents.shape[3],
         " were pushed into a session made for ", clip_.height, " x ", clip_.width);
  }
  check_push(latents.shape[1], pushed_, clip_.frames, "latent frames");
  if (latents.device.kind != DeviceKind::kCpu && latents.device != clip_.device) {
    fail(ErrorKind::kInvalidArgument,
         "latents must lie in host memory or on the device of the decode");
  }
}

std::optional<std::int64_t> Session::first_bad_frame(const TensorView& latents) const {
  if (latents.device.kind == DeviceKind::kCpu) return first_frame_not_finite(latents);
  return ops::cuda::first_frame_not_finite(
      {.device = clip_.device, .stream = options_.context.stream}, latents);
}

void Session::push(const TensorView& latents, FrameSink& sink) {
  if (spent_) {
    fail(ErrorKind::kInvalidArgument, "this session ended with an error; make a new one");
  }
  spent_ = true;  // until this push has succeeded
  check(latents);
  const device::CurrentDevice current(clip_.device);
  const ThreadLimit threads(options_.context.threads);
  const std::int64_t frames = latents.shape[1];
  if (const auto bad = first_bad_frame(latents)) {
    fail(ErrorKind::kInvalidArgument, "latent frame ", pushed_ + *bad,
         " holds NaN or infinity; the video would be black from there on");
  }
  output_.begin(sink);
  for (std::int64_t begin = 0, count = 0; begin < frames; begin += count) {
    count = next_pass(frames - begin);
    const bool first = pushed_ == 0;
    // The memory of any pass was counted, but this one's convolutions may be new.
    const Arena::Layout& places = layout(count, first);
    prepare();
    arena_.follow(places, slab_.data(), slab_.bytes());
    decoder_->decode(pass(plans_, false), plan_.size, latents.slice(1, begin, count), clip_.scale,
                     first,
                     [&](const Pass& p, const FramesView& patches) { output_.emit(p, patches); });
    pushed_ += count;
  }
  output_.finish();
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
