#include "pantograph/vae.h"

#include <mutex>

#include "core/check.h"
#include "core/parallel.h"
#include "core/stopwatch.h"
#include "models/wan_vae/checkpoint.h"
#include "models/wan_vae/config.h"
#include "models/wan_vae/encode_session.h"
#include "models/wan_vae/session.h"

namespace pantograph {

struct Vae::Impl {
  Checkpoint checkpoint;
  VaeConfig config;
  std::int64_t parameters = 0;
  std::shared_ptr<const wan_vae::Decoder> decoder;
  // Made when first asked for: most processes only decode, and many files hold no encoder.
  mutable std::once_flag encoder_made;
  mutable std::shared_ptr<const wan_vae::Encoder> encoder;
};

struct EncodeSession::Impl {
  wan_vae::EncoderSession session;
};

struct DecodeSession::Impl {
  wan_vae::Session session;
};

namespace {

// Counts and times frames on their way to another sink.
class CountingSink final : public FrameSink {
 public:
  CountingSink(FrameSink& target, std::int64_t total, const ProgressCallback& progress)
      : target_(target), progress_(progress) {
    state_.frames_total = total;
  }
  [[nodiscard]] FrameFormat preferred_format() const override { return target_.preferred_format(); }
  void write(const TensorView& frames) override {
    const Clock::time_point write_begin = Clock::now();
    target_.write(frames);
    write_seconds_ += seconds_since(write_begin);
    state_.frames_done += frames.shape[0];
    state_.seconds = seconds_since(begin_);
    if (progress_) progress_(state_);
  }
  [[nodiscard]] std::int64_t frames() const { return state_.frames_done; }
  [[nodiscard]] double write_seconds() const { return write_seconds_; }

 private:
  FrameSink& target_;
  const ProgressCallback& progress_;
  Progress state_;
  double write_seconds_ = 0;
  Clock::time_point begin_ = Clock::now();
};

void check_clip(const VaeConfig& config, const TensorView& latents) {
  if (latents.rank != 4) {
    fail(ErrorKind::kInvalidArgument, "latents of ", latents.rank, " dimensions; expected [",
         config.latent_channels, ", T, h, w]");
  }
  if (latents.shape[0] != config.latent_channels) {
    fail(ErrorKind::kInvalidArgument, "latents of ", latents.shape[0], " channels",
         latents.shape[0] == 16 ? " (those of the Wan2.1 VAE)" : "", "; this VAE takes ",
         config.latent_channels, " (Wan2.2-TI2V-5B and PAN 2)");
  }
  if (latents.dtype != DType::kF32 && latents.dtype != DType::kBF16 &&
      latents.dtype != DType::kF16) {
    fail(ErrorKind::kInvalidArgument, "latents are ", to_string(latents.dtype),
         "; expected f32, bf16 or f16");
  }
  if (latents.shape[1] < 1 || latents.shape[2] < 1 || latents.shape[3] < 1) {
    fail(ErrorKind::kInvalidArgument, "the latents are empty: [", latents.shape[0], ", ",
         latents.shape[1], ", ", latents.shape[2], ", ", latents.shape[3], "]");
  }
}

std::string listed(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) text += (text.empty() ? "" : "; ") + problem;
  return text;
}

}  // namespace

Vae Vae::open(const std::filesystem::path& path, const ExecutionContext& /*context*/) {
  auto impl = std::make_shared<Impl>();
  impl->checkpoint = wan_vae::open_vae_checkpoint(path);
  const Checkpoint& checkpoint = impl->checkpoint;
  impl->config = wan_vae::parse_config(checkpoint.config, wan_vae::config_place(checkpoint));
  const std::vector<std::string> problems = wan_vae::check_tensors(impl->config, checkpoint);
  if (!problems.empty()) {
    fail(ErrorKind::kFormat, checkpoint.path.string(), ": ", problems.size(),
         problems.size() == 1 ? " tensor does" : " tensors do",
         " not fit the config: ", listed(problems));
  }
  for (const auto& spec : wan_vae::decoder_tensors(impl->config)) {
    impl->parameters += checkpoint.tensors.at(spec.name).view.elements();
  }
  impl->decoder = std::make_shared<const wan_vae::Decoder>(impl->config, checkpoint);
  return Vae(std::move(impl));
}

Vae::Vae(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
const VaeConfig& Vae::config() const {
  return impl_->config;
}
std::int64_t Vae::parameters() const {
  return impl_->parameters;
}

DecodePlan Vae::plan(std::int64_t h, std::int64_t w, const DecodeOptions& options) const {
  const wan_vae::ClipShape clip = wan_vae::clip_shape(impl_->config, h, w, options);
  const wan_vae::PassPlan plan =
      wan_vae::choose_pass(*impl_->decoder, clip, options.frames_per_pass, options.memory_limit);
  const bool gpu = clip.device.kind == DeviceKind::kCuda;
  return {.frames_per_pass = plan.size.latent_frames,
          .bytes = plan.bytes,
          .weight_bytes = plan.weight_bytes,
          .library_bytes = gpu ? wan_vae::kLibrariesOnGpu : 0};
}

DecodeSession Vae::decode_session(std::int64_t h, std::int64_t w,
                                  const DecodeOptions& options) const {
  // In place: a session does not move.
  return DecodeSession(std::unique_ptr<DecodeSession::Impl>(
      new DecodeSession::Impl{{impl_->decoder, impl_->config, h, w, options}}));
}

DecodeStatistics Vae::decode(const TensorView& latents, FrameSink& sink,
                             const DecodeOptions& options, const ProgressCallback& progress) const {
  check_clip(impl_->config, latents);
  const ThreadLimit threads(options.context.threads);
  const bool on_host = latents.device.kind == DeviceKind::kCpu;  // else the session looks
  if (const auto bad = on_host ? wan_vae::first_frame_not_finite(latents) : std::nullopt) {
    fail(ErrorKind::kInvalidArgument, "latent frame ", *bad, " of ", latents.shape[1],
         " holds NaN or infinity; the video would be black from there on");
  }
  DecodeStatistics statistics;
  const Clock::time_point begin = Clock::now();
  DecodeOptions clip_options = options;
  clip_options.clip_frames = latents.shape[1];
  DecodeSession session = decode_session(latents.shape[2], latents.shape[3], clip_options);
  statistics.prepare_seconds = seconds_since(begin);
  statistics.weight_seconds = session.weight_seconds();
  statistics.frames_per_pass = session.frames_per_pass();
  statistics.planned_bytes = session.planned_bytes();
  CountingSink counting(sink, impl_->config.video_frames(latents.shape[1]), progress);
  const Clock::time_point push_begin = Clock::now();
  session.push(latents, counting);
  statistics.frames = counting.frames();
  statistics.write_seconds = counting.write_seconds();
  statistics.decode_seconds = seconds_since(push_begin) - statistics.write_seconds;
  return statistics;
}

EncodeSession Vae::encode_session(std::int64_t height, std::int64_t width,
                                  const EncodeOptions& options) const {
  std::call_once(impl_->encoder_made, [&] {
    const std::vector<std::string> problems =
        wan_vae::check_encoder_tensors(impl_->config, impl_->checkpoint);
    if (!problems.empty()) {
      fail(ErrorKind::kNotFound, impl_->checkpoint.path.string(),
           ": no usable encoder, which encoding needs: ", listed(problems));
    }
    impl_->encoder = std::make_shared<const wan_vae::Encoder>(impl_->config, impl_->checkpoint);
  });
  return EncodeSession(std::make_unique<EncodeSession::Impl>(
      wan_vae::EncoderSession(impl_->encoder, impl_->config, height, width, options)));
}

EncodeSession::EncodeSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EncodeSession::EncodeSession(EncodeSession&&) noexcept = default;
EncodeSession& EncodeSession::operator=(EncodeSession&&) noexcept = default;
EncodeSession::~EncodeSession() = default;

void EncodeSession::push(const TensorView& frames, const LatentCallback& receive) {
  impl_->session.push(frames, receive);
}
void EncodeSession::finish() const {
  impl_->session.finish();
}

DecodeSession::DecodeSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DecodeSession::DecodeSession(DecodeSession&&) noexcept = default;
DecodeSession& DecodeSession::operator=(DecodeSession&&) noexcept = default;
DecodeSession::~DecodeSession() = default;

void DecodeSession::push(const TensorView& latents, FrameSink& sink) {
  impl_->session.push(latents, sink);
}
std::int64_t DecodeSession::latent_frames() const {
  return impl_->session.latent_frames();
}
std::int64_t DecodeSession::frames_per_pass() const {
  return impl_->session.frames_per_pass();
}
std::size_t DecodeSession::planned_bytes() const {
  return impl_->session.planned_bytes();
}
double DecodeSession::weight_seconds() const {
  return impl_->session.weight_seconds();
}

}  // namespace pantograph
