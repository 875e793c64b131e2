#pragma once

#include <cstdint>
#include <string>

#include "pantograph/vae.h"
#include "pantograph/video_writer.h"

namespace pantograph::bench {

struct Workload {
  std::string name;
  std::int64_t latent_frames, height, width;  // height and width of latents
};

// As DecodeBench::workloads says it. Throws Error(kInvalidArgument).
Workload parse_workload(const std::string& name, const VaeConfig& config);

// Of the video that it decodes to.
VideoShape video_shape(const Workload& workload, const VaeConfig& config);

}  // namespace pantograph::bench
