// What a request for a video is when nothing else is said.
#pragma once

#include <cstdint>
#include <string_view>

namespace pantograph {

struct Preset {
  std::string_view name;
  std::int64_t frames = 0, height = 0, width = 0;  // of the video, in pixels
  int frames_per_second = 0;
  std::int64_t steps = 0;
  double guidance = 0;
};

// PAN 2's release: 13 s. Shift and sampler are the checkpoint's own (scheduler_config.json).
inline constexpr Preset kPan2T2v{.name = "pan2_t2v",
                                 .frames = 313,
                                 .height = 704,
                                 .width = 1248,
                                 .frames_per_second = 24,
                                 .steps = 50,
                                 .guidance = 2.5};
inline constexpr Preset kPan2I2v = [] {
  Preset preset = kPan2T2v;
  preset.name = "pan2_i2v";
  return preset;
}();

}  // namespace pantograph
