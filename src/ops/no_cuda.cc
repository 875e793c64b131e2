#include "ops/cuda.h"

namespace pantograph::ops::cuda {
namespace {

// Nothing reaches these: a session on a GPU is refused before.
[[noreturn]] void absent() {
  fail(ErrorKind::kUnsupported, "this build has no GPU code");
}

}  // namespace

void rms_norm(const Context&, const FramesView&, const Parameter&, Activation, const FramesView&) {
  absent();
}
void causal_rms_norm(const Context&, const FramesView&, const Parameter&, Activation,
                     const FramesView&, const FramesView&) {
  absent();
}
void enlarge(const Context&, const EnlargeWeights&, const Enlargement&) {
  absent();
}
void enlarge_fused(const Context&, const EnlargeWeights&, const Enlargement&, const NormedFrames&,
                   std::size_t) {
  absent();
}
bool enlarge_fuses(const Context&, const EnlargeWeights&, const Enlargement&) {
  absent();
}
void nearest_upsample(const Context&, const FramesView&, const FramesView&) {
  absent();
}
void duplicate_upsample(const Context&, const FramesView&, std::int64_t, std::int64_t,
                        const FramesView&) {
  absent();
}
void load_latents(const Context&, const TensorView&, const Parameter&, const Parameter&,
                  const FramesView&) {
  absent();
}
std::optional<std::int64_t> first_frame_not_finite(const Context&, const TensorView&) {
  absent();
}
void unpatchify(const Context&, const FramesView&, std::int64_t, PixelLayout, std::byte*) {
  absent();
}
void frame_attention(const Context&, const FramesView&, const FramesView&) {
  absent();
}

}  // namespace pantograph::ops::cuda
