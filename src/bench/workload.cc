#include "bench/workload.h"

#include <cstdio>

#include "core/check.h"

namespace pantograph::bench {

Workload parse_workload(const std::string& name, const VaeConfig& config) {
  const std::int64_t factor = config.spatial_factor(), temporal = config.temporal_factor();
  long long frames = 0, height = 704, width = 1248;
  const bool sized = std::sscanf(name.c_str(), "%lldx%lldx%lld", &frames, &height, &width) == 3;
  if (!sized && std::sscanf(name.c_str(), "f%lld", &frames) != 1) frames = 0;
  if (frames < 1 || (frames - 1) % temporal != 0 || height < factor || height % factor != 0 ||
      width < factor || width % factor != 0) {
    fail(ErrorKind::kInvalidArgument, "'", name,
         "' is no workload; expected f121 or FRAMESxHEIGHTx",
         "WIDTH, with a frame more than a multiple of ", temporal, " and sides in multiples of ",
         factor);
  }
  return {name, (frames - 1) / temporal + 1, height / factor, width / factor};
}

VideoShape video_shape(const Workload& workload, const VaeConfig& config) {
  return {.frames = config.video_frames(workload.latent_frames),
          .height = config.spatial_factor() * workload.height,
          .width = config.spatial_factor() * workload.width};
}

}  // namespace pantograph::bench
