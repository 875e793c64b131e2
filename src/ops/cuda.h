// The GPU's side of ops that are plain loops on a CPU. The op has checked shapes; the frames lie on
// the context's device. no_cuda.cc stands in where a build has no GPU code.
#pragma once

#include <optional>

#include "ops/attention/attention.h"
#include "ops/enlarge/enlarge.h"
#include "ops/latent_frames/latent_frames.h"
#include "ops/rms_norm/rms_norm.h"

namespace pantograph::ops::cuda {

void rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
              Activation activation, const FramesView& y);
void causal_rms_norm(const Context& context, const FramesView& x, const Parameter& gamma,
                     Activation activation, const FramesView& y, const FramesView& history);
void nearest_upsample(const Context& context, const FramesView& x, const FramesView& y);
void duplicate_upsample(const Context& context, const FramesView& x, std::int64_t temporal_factor,
                        std::int64_t skipped, const FramesView& y);
// `latents` lie on the device.
void load_latents(const Context& context, const TensorView& latents, const Parameter& scale,
                  const Parameter& shift, const FramesView& y);
std::optional<std::int64_t> first_frame_not_finite(const Context& context,
                                                   const TensorView& latents);
void unpatchify(const Context& context, const FramesView& x, std::int64_t patch, PixelLayout layout,
                std::byte* pixels);
// These take memory from the arena while planning too.
void frame_attention(const Context& context, const FramesView& qkv, const FramesView& y);
void enlarge(const Context& context, const EnlargeWeights& weights, const Enlargement& enlargement);
// Works on as many rows at a time as `workspace_limit` bytes hold, or on one; beyond this limit
// more bring little.
inline constexpr std::size_t kEnlargeWorkspace = std::size_t{1} << 30;
void enlarge_fused(const Context& context, const EnlargeWeights& weights,
                   const Enlargement& enlargement, const NormedFrames& normed,
                   std::size_t workspace_limit);
// Whether enlarge_fused() is there.
bool enlarge_fuses(const Context& context, const EnlargeWeights& weights,
                   const Enlargement& enlargement);

}  // namespace pantograph::ops::cuda
