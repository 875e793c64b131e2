// How many frames a clip was said to have, by the options of a decode or an encode: 0 where it is
// not known.
#pragma once

#include <cstdint>

#include "core/check.h"

namespace pantograph::wan_vae {

// Whether frames follow on the first one, so that there is something to remember.
inline bool goes_on(std::int64_t clip_frames) {
  return clip_frames != 1;
}

// `what` the frames are: "frames" or "latent frames".
inline void check_clip_length(std::int64_t clip_frames, const char* what) {
  if (clip_frames >= 0) return;
  fail(ErrorKind::kInvalidArgument, "a clip of ", clip_frames, " ", what,
       "; expected at least 1, or 0 where it is not known");
}

// Before `count` of them are pushed after `before`.
inline void check_push(std::int64_t count, std::int64_t before, std::int64_t clip_frames,
                       const char* what) {
  if (clip_frames == 0 || count <= clip_frames - before) return;
  fail(ErrorKind::kInvalidArgument, count, " ", what, " were pushed after ", before,
       " of a clip that was to have ", clip_frames, "; make a session of another length, or of 0");
}

}  // namespace pantograph::wan_vae
