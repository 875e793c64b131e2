#include "models/wan_vae/encode_session.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "core/text.h"
#include "models/wan_vae/clip_length.h"

namespace pantograph::wan_vae {
namespace {

FramesView pixels_view(float* data, std::int64_t frames, std::int64_t height, std::int64_t width) {
  return {.data = reinterpret_cast<std::byte*>(data),
          .frames = frames,
          .height = height,
          .width = width,
          .channels = 3};
}

}  // namespace

EncoderSession::EncoderSession(std::shared_ptr<const Encoder> encoder, const VaeConfig& config,
                               std::int64_t height, std::int64_t width,
                               const EncodeOptions& options)
    : encoder_(std::move(encoder)),
      config_(config),
      height_(height),
      width_(width),
      options_(options),
      state_(goes_on(options.clip_frames)) {
  const std::int64_t factor = config.spatial_factor();
  if (height < 1 || width < 1 || height % factor != 0 || width % factor != 0) {
    const auto nearest = [&](std::int64_t size) {
      return std::max<std::int64_t>(1, (size + factor / 2) / factor) * factor;
    };
    fail(ErrorKind::kInvalidArgument, "frames of ", height, " x ", width,
         " (height x width) cannot be encoded: both must be multiples of ", factor,
         "; the nearest are ", nearest(height), " x ", nearest(width));
  }
  if (options.context.device.kind != DeviceKind::kCpu) {
    fail(ErrorKind::kUnsupported, "this version encodes on the CPU only");
  }
  check_clip_length(options.clip_frames, "frames");
  const ThreadLimit threads(options.context.threads);
  const bool more = goes_on(options.clip_frames);
  const std::int64_t frames = more ? config_.temporal_factor() : 1;
  for (const bool first : {true, false}) {
    if (!first && !more) break;
    // Taken and given back at once: what counts is the arena's peak.
    const Frames planned = encoder_->encode(
        pass(true), pixels_view(nullptr, first ? 1 : frames, height, width), first);
  }
  const bool limited = options.memory_limit > 0;
  const std::size_t available = limited ? options.memory_limit : available_memory();
  const std::size_t needed =
      arena_.peak() + state_.bytes() + (limited ? plans_.weight_bytes() : plans_.bytes_to_pack());
  if (needed > available) {
    fail(ErrorKind::kOutOfMemory, "frames of ", height, " x ", width, " need ",
         format_bytes(needed), " to encode, and ", format_bytes(available),
         limited ? " are allowed" : " are available", "; use smaller frames");
  }
  state_.allocate(options_.context);
  slab_ = device::Memory(options_.context.device, arena_.peak(), options_.context.allocator);
  arena_.bind(slab_.data(), slab_.bytes());
  plans_.prepare();
  pending_.resize(static_cast<std::size_t>(frames * height * width * 3));
}

Pass EncoderSession::pass(bool planning) {
  return {.ops = {.device = options_.context.device,
                  .stream = options_.context.stream,
                  .arena = &arena_,
                  .plans = &plans_,
                  .planning = planning,
                  .cancel = &options_.cancel},
          .state = &state_};
}

void EncoderSession::check(const TensorView& frames) const {
  if (spent_) {
    fail(ErrorKind::kInvalidArgument, "this session ended with an error; make a new one");
  }
  if (frames.rank != 4 || frames.shape[1] != height_ || frames.shape[2] != width_ ||
      frames.shape[3] != 3 || frames.dtype != DType::kF32 || !frames.is_dense() ||
      frames.device.kind != DeviceKind::kCpu) {
    fail(ErrorKind::kInvalidArgument, "an encode takes dense f32 frames [n, ", height_, ", ",
         width_, ", 3] on the CPU, not ", to_string(frames.dtype), " ", shape_text(frames.sizes()));
  }
  check_push(frames.shape[0], taken_ + waiting_, options_.clip_frames, "frames");
}

void EncoderSession::push(const TensorView& frames, const LatentCallback& receive) {
  check(frames);
  spent_ = true;  // until this push has succeeded
  const ThreadLimit threads(options_.context.threads);
  const std::int64_t size = height_ * width_ * 3;
  const auto* source = static_cast<const float*>(frames.data);
  for (std::int64_t i = 0; i < frames.shape[0]; ++i) {
    const float* frame = source + i * size;
    if (!std::all_of(frame, frame + size, [](float value) { return std::isfinite(value); })) {
      fail(ErrorKind::kInvalidArgument, "frame ", taken_ + waiting_, " holds NaN or infinity");
    }
    std::copy(frame, frame + size, pending_.begin() + waiting_ * size);
    if (++waiting_ == chunk()) encode_pending(receive);
  }
  spent_ = false;
}

void EncoderSession::encode_pending(const LatentCallback& receive) {
  const bool first = taken_ == 0;
  const Frames moments =
      encoder_->encode(pass(false), pixels_view(pending_.data(), waiting_, height_, width_), first);
  const std::int64_t channels = config_.latent_channels, positions = moments->positions();
  std::vector<float> latents(static_cast<std::size_t>(channels * positions));
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    const bool normalized = options_.scale == LatentScale::kNormalized;
    const double mean = normalized ? config_.latents_mean[channel] : 0;
    const double deviation = normalized ? config_.latents_std[channel] : 1;
    for (std::int64_t i = 0; i < positions; ++i) {
      latents[static_cast<std::size_t>(c * positions + i)] = static_cast<float>(
          (double{moments->f32()[i * moments->channels + c]} - mean) / deviation);
    }
  }
  taken_ += waiting_;
  waiting_ = 0;
  receive(TensorView::dense(latents.data(), DType::kF32,
                            {channels, moments->frames, moments->height, moments->width}));
}

void EncoderSession::finish() const {
  if (taken_ == 0 || waiting_ > 0) {
    const std::int64_t factor = config_.temporal_factor(), frames = taken_ + waiting_;
    fail(ErrorKind::kInvalidArgument, frames, " frames cannot be encoded: 1 and a multiple of ",
         factor, " more are needed; the nearest are ", std::max<std::int64_t>(1, taken_), " and ",
         taken_ == 0 ? 1 : taken_ + factor);
  }
}

}  // namespace pantograph::wan_vae
