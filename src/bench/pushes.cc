#include "bench/pushes.h"

#include "bench/seconds.h"
#include "core/check.h"
#include "core/stopwatch.h"

namespace pantograph::bench {

void push_singly(wan_vae::Session& session, const TensorView& clip, FrameSink& sink,
                 const std::function<void()>& finish, PushTimes& times) {
  for (std::int64_t frame = 0; frame < clip.shape[1]; ++frame) {
    const Clock::time_point begin = Clock::now();
    session.push(clip.slice(1, frame, 1), sink);
    finish();
    (frame == 0 ? times.first : times.later).push_back(seconds_since(begin));
  }
}

void add_pushes(const PushTimes& times, Json::Object& result, std::string& line) {
  add_seconds(result, "first_frame_seconds", times.first);
  add_seconds(result, "push_seconds", times.later);
  if (!times.first.empty()) line += ", first frame after " + describe(spread_of(times.first));
  if (!times.later.empty()) line += ", a later push " + describe(spread_of(times.later));
}

}  // namespace pantograph::bench
