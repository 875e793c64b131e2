// Which pass a decode takes: those that are tried, in which order, and the first that suits.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "models/wan_vae/decoder.h"

namespace pantograph::wan_vae {

// Fastest first. The first `good` of them are worth smaller weights, which take longer.
struct PassSizes {
  std::vector<PassSize> sizes;
  std::size_t good = 0;
};
// Of a clip of so many latent frames (0: not known), `frames_per_pass` at a time (0: free choice).
PassSizes pass_sizes(DeviceKind device, std::int64_t clip_frames, std::int64_t frames_per_pass);

struct PassPlan {
  PassSize size;
  ops::Thrift thrift = ops::Thrift::kNone;
  std::size_t bytes = 0;  // that the session takes: activations, history, frames on their way out
  std::size_t slab_bytes = 0;    // of them, activations
  std::size_t weight_bytes = 0;  // packed as the passes want them, shared by all sessions
};

// The plan of a pass; nothing where it does not fit.
using MeasurePass = std::function<std::optional<PassPlan>(const PassSize&, ops::Thrift)>;

// With the largest weights that leave room for a good pass, else the last of `thrifts`: the first
// pass of at most `usual` bytes, else the smallest. Nothing where none fits.
std::optional<PassPlan> first_fitting(const PassSizes& passes,
                                      const std::vector<ops::Thrift>& thrifts, std::size_t usual,
                                      const MeasurePass& measure);

}  // namespace pantograph::wan_vae
