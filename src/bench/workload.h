#pragma once

#include <cstdint>
#include <string>

#include "pantograph/vae.h"

namespace pantograph::bench {

struct Workload {
  std::string name;
  std::int64_t latent_frames, height, width;  // height and width of latents
};

// As DecodeBench::workloads says it. Throws Error(kInvalidArgument).
Workload parse_workload(const std::string& name, const VaeConfig& config);

}  // namespace pantograph::bench
