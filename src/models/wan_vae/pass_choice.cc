#include "models/wan_vae/pass_choice.h"

#include <algorithm>
#include <array>

namespace pantograph::wan_vae {
namespace {

// On a CPU few latent frames fill it, and memory is better spent on one group of all their frames.
// On a GPU the low resolutions want many latent frames, and groups of a few frames would mostly
// move history around.
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
constexpr std::size_t kGoodOnGpu = 4;
constexpr std::array<std::int64_t, 5> kGroupFrames = {0, 8, 4, 2, 1};
constexpr std::size_t kGoodGroups = 2;  // 8 and 4

}  // namespace

PassSizes pass_sizes(DeviceKind device, std::int64_t clip_frames, std::int64_t frames_per_pass) {
  PassSizes passes;
  const bool cpu = device == DeviceKind::kCpu;
  if (frames_per_pass > 0) {
    for (const std::int64_t group : kGroupFrames) {
      if (cpu || group > 0) passes.sizes.push_back({frames_per_pass, group});
    }
    passes.good = kGoodGroups;
  } else if (cpu) {
    passes.sizes.assign(kOnCpu.begin(), kOnCpu.end());
  } else {
    passes.sizes.assign(kOnGpu.begin(), kOnGpu.end());
    passes.good = kGoodOnGpu;
  }
  if (clip_frames > 0) {
    for (PassSize& size : passes.sizes) {
      size.latent_frames = std::min(size.latent_frames, clip_frames);
    }
  }
  return passes;
}

std::optional<PassPlan> first_fitting(const PassSizes& passes,
                                      const std::vector<ops::Thrift>& thrifts, std::size_t usual,
                                      const MeasurePass& measure) {
  for (const ops::Thrift thrift : thrifts) {
    std::optional<PassPlan> smallest;
    for (std::size_t i = 0; i < passes.sizes.size(); ++i) {
      if (i == passes.good && !smallest && thrift != thrifts.back()) break;
      const auto plan = measure(passes.sizes[i], thrift);
      if (plan && plan->bytes <= usual) return plan;
      if (plan && (!smallest || plan->bytes < smallest->bytes)) smallest = plan;
    }
    if (smallest) return smallest;
  }
  return std::nullopt;
}

}  // namespace pantograph::wan_vae
