// What happens to a request, one function a stage. Each needs what the ones before it made and
// nothing else; all stop with Error(kCancelled) soon after the token is triggered.
#pragma once

#include <memory>
#include <vector>

#include "media/picture.h"
#include "pantograph/vae.h"
#include "pipeline/generate_request.h"
#include "pipeline/pan2_model.h"
#include "pipeline/sample_latents.h"

namespace pantograph {

// How stages run.
struct StageOptions {
  ExecutionContext context{};
  std::size_t memory_limit = 0;            // of the VAE, in bytes, weights included; 0: no limit
  Algorithm algorithm = Algorithm::kAuto;  // of the decode
  CancelToken cancel{};
};

// Finds what is wrong with a request before anything is computed: sizes and frame counts (naming
// the nearest valid ones), steps, sigmas, shift, guidance, an image that cannot be read, memory
// that a decode would not have, outputs that could not be written. Throws Error.
void validate(const GenerateRequest& request, const Pan2Model& model,
              const StageOptions& options = {});

// Texts that several requests have in common are kept once.
struct EncodedPrompts {
  std::shared_ptr<const EncodedText> positive;
  std::shared_ptr<const EncodedText> negative;  // null where guidance is at most 1: nobody reads it
};
// `before` is another request's: its negative prompt is not encoded again where this one's is the
// same.
EncodedPrompts encode_text(const GenerateRequest& request, const TextEncoder& text,
                           const StageOptions& options = {}, const EncodedPrompts& before = {});

// The request's image, scaled to cover the video's frame and cut to it. Throws Error that names it.
Picture first_frame(const GenerateRequest& request);

// The normalised VAE mean [channels, 1, h, w] of the first frame; empty without an image.
std::vector<float> condition(const GenerateRequest& request, const Vae& vae,
                             const StageOptions& options = {});

// The clean, normalised latents [channels, T, h, w], f32.
struct Latents {
  std::vector<float> values;
  std::vector<std::int64_t> shape;
  [[nodiscard]] TensorView view() const;
};
// `first_frame` as condition() gives it.
Latents denoise(const GenerateRequest& request, const Pan2Model& model,
                const EncodedPrompts& prompts, std::vector<float> first_frame,
                const StageOptions& options = {}, const SamplingCallbacks& callbacks = {});

// Writes "latents", f32 and normalised, for `pantograph decode --latent-scale normalized`.
void save_latents(const Latents& latents, const std::filesystem::path& file);

// Every frame goes to `sink`, whose finish() is the caller's.
DecodeStatistics decode(const Latents& latents, const Vae& vae, FrameSink& sink,
                        const StageOptions& options = {}, const ProgressCallback& progress = {});

}  // namespace pantograph
