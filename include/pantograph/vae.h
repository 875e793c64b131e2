// The Wan2.2 VAE: open a checkpoint once, decode any number of clips with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pantograph/execution_context.h"
#include "pantograph/export.h"
#include "pantograph/frame_sink.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

// What the numbers in a latent tensor are; a file does not say.
enum class LatentScale {
  kRaw,         // z, as the VAE takes it: what diffusers' `vae.decode` is given
  kNormalized,  // (z - mean) / std per channel: what a sampler works on (`output_type="latent"`)
};

// config.json of a Wan2.2-family AutoencoderKLWan, as far as decoding depends on it.
struct PANTOGRAPH_EXPORT VaeConfig {
  std::int64_t latent_channels = 0;               // z_dim
  std::int64_t encoder_base_channels = 0;         // base_dim
  std::int64_t decoder_base_channels = 0;         // decoder_base_dim
  std::vector<std::int64_t> channel_multipliers;  // dim_mult, from high to low resolution
  std::int64_t residual_blocks = 0;       // num_res_blocks; the decoder has one more a level
  std::vector<bool> temporal_downsample;  // temperal_downsample, one for each resampler
  std::int64_t patch_size = 0;
  std::vector<double> latents_mean, latents_std;  // one for each latent channel

  [[nodiscard]] std::int64_t spatial_factor() const;   // pixels of a latent's edge: 16
  [[nodiscard]] std::int64_t temporal_factor() const;  // frames of a latent after the first: 4
  // Frames of the video that `latent_frames` latent frames decode to: 4 T - 3, and 0 for 0.
  [[nodiscard]] std::int64_t video_frames(std::int64_t latent_frames) const;
};

struct Progress {
  std::int64_t frames_done = 0;
  std::int64_t frames_total = 0;  // 0 where a stream has no known end
  double seconds = 0;             // since the decode began
};
using ProgressCallback = std::function<void(const Progress&)>;

// What a whole-clip decode did.
struct DecodeStatistics {
  std::int64_t frames = 0;           // written to the sink
  std::int64_t frames_per_pass = 0;  // latent frames
  std::size_t planned_bytes = 0;     // peak of what the session took, weights not counted
  double prepare_seconds = 0;        // planning, packing weights where that was not done before
  double weight_seconds = 0;         // of these, bringing weights to a GPU
  double decode_seconds = 0;         // without the sink's time
  double write_seconds = 0;          // inside the sink
};

// What a decode will take, known before it takes any.
struct DecodePlan {
  std::int64_t frames_per_pass = 0;  // latent frames
  std::size_t bytes = 0;             // peak of the session's memory
  std::size_t weight_bytes = 0;      // of its weights on the device, shared by all sessions
  std::size_t library_bytes = 0;     // on a GPU, of the driver's context and the libraries, about
  [[nodiscard]] std::size_t total_bytes() const { return bytes + weight_bytes + library_bytes; }
};

// What activations and weights are rounded to; sums are f32 either way.
enum class Precision {
  kAuto,  // bf16 on a GPU, f32 on a CPU
  kF32,   // never TF32
  kBF16,  // on a GPU only
};

struct DecodeOptions {
  LatentScale scale = LatentScale::kRaw;
  Precision precision = Precision::kAuto;
  Algorithm algorithm = Algorithm::kAuto;
  // Latent frames a pass; 0 takes the fastest pass whose memory fits. Frames do not depend on it
  // beyond rounding.
  std::int64_t frames_per_pass = 0;
  // Latent frames of the whole clip, where they are known: a short one takes less memory, above all
  // a single frame, and no pass is prepared that does not run. No more can be pushed. 0: not known.
  // Vae::decode knows.
  std::int64_t clip_frames = 0;
  // Bytes that the decode may take of the device in all, its weights and, on a GPU, the libraries
  // included: DecodePlan::total_bytes() of what is chosen. Where memory is short, passes become
  // shorter, and on Hopper weights smaller. 0 takes what the device has free, within reason.
  // On a GPU a session with a limit gives back what earlier ones had made of the weights and it
  // does not want itself.
  std::size_t memory_limit = 0;
  ExecutionContext context{};
  CancelToken cancel{};
};

// One clip being decoded. Holds the causal history of that clip and nothing else does: sessions on
// one Vae, in one thread or several, never see each other. A session is used by one thread at a
// time.
class PANTOGRAPH_EXPORT DecodeSession {
 public:
  DecodeSession(DecodeSession&&) noexcept;
  DecodeSession& operator=(DecodeSession&&) noexcept;
  ~DecodeSession();

  // Decodes the next `n` latent frames of the clip: latents [C, n, h, w] with the h and w the
  // session was made for, f32, bf16 or f16, any strides. Every video frame they complete goes to
  // `sink`: 1 for the first latent frame of the clip, 4 for each after it.
  // Throws Error; after that the session is spent and every further push throws.
  void push(const TensorView& latents, FrameSink& sink);

  [[nodiscard]] std::int64_t latent_frames() const;    // pushed so far
  [[nodiscard]] std::int64_t frames_per_pass() const;  // latent frames, as chosen
  [[nodiscard]] std::size_t planned_bytes() const;     // peak of what the session takes
  [[nodiscard]] double weight_seconds() const;         // that it took to bring weights to a GPU

 private:
  friend class Vae;
  struct Impl;
  explicit DecodeSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct EncodeOptions {
  LatentScale scale = LatentScale::kRaw;  // of the latents that come out
  // Frames of the whole clip, where they are known: a single one takes much less memory. No more
  // can be pushed. 0: not known.
  std::int64_t clip_frames = 0;
  std::size_t memory_limit = 0;  // in bytes, weights included; 0: what is free
  ExecutionContext context{};
  CancelToken cancel{};
};

// Receives latents [C, m, h, w], f32 on the CPU, dense; valid during the call only.
using LatentCallback = std::function<void(const TensorView& latents)>;

// One clip being encoded to the mean of its latents, causally: the first frame alone, then four at
// a time. Used by one thread at a time.
class PANTOGRAPH_EXPORT EncodeSession {
 public:
  EncodeSession(EncodeSession&&) noexcept;
  EncodeSession& operator=(EncodeSession&&) noexcept;
  ~EncodeSession();

  // Takes the next frames [n, H, W, 3], f32, RGB in [-1, 1], dense, on the CPU, any number at a
  // time; every latent frame they complete goes to `receive`. After an Error the session is spent.
  void push(const TensorView& frames, const LatentCallback& receive);
  // Throws Error(kInvalidArgument) where frames are left over, naming the counts that are none.
  void finish() const;

 private:
  friend class Vae;
  struct Impl;
  explicit EncodeSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class PANTOGRAPH_EXPORT Vae {
 public:
  // Opens a diffusers folder (config.json and one or more safetensors files). Every problem of the
  // weights is found here: missing, unexpected and mis-shaped tensors are listed together.
  static Vae open(const std::filesystem::path& checkpoint, const ExecutionContext& context = {});

  [[nodiscard]] const VaeConfig& config() const;
  [[nodiscard]] std::int64_t parameters() const;  // of the decoder

  // What a session for latents of h x w would take; throws as decode_session does.
  [[nodiscard]] DecodePlan plan(std::int64_t h, std::int64_t w,
                                const DecodeOptions& options = {}) const;

  // A session for latents of h x w. Memory is planned and taken here; throws
  // Error(kOutOfMemory) naming the pass size that would fit where it does not suffice.
  [[nodiscard]] DecodeSession decode_session(std::int64_t h, std::int64_t w,
                                             const DecodeOptions& options = {}) const;

  // Decodes a whole clip [C, T, h, w] into `sink`, without calling its finish().
  // NaN and infinity in the latents are refused by frame before any work is done.
  DecodeStatistics decode(const TensorView& latents, FrameSink& sink,
                          const DecodeOptions& options = {},
                          const ProgressCallback& progress = {}) const;

  // A session for frames of height x width pixels, multiples of the spatial factor. Throws Error:
  // kNotFound where the checkpoint has no encoder, kOutOfMemory, kInvalidArgument.
  [[nodiscard]] EncodeSession encode_session(std::int64_t height, std::int64_t width,
                                             const EncodeOptions& options = {}) const;

 private:
  struct Impl;
  explicit Vae(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pantograph
