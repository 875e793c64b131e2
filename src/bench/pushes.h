// What a streaming user waits for: latent frames come one at a time, each is pushed when it is
// there, and its video frames are wanted at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "models/wan_vae/session.h"

namespace pantograph::bench {

// Seconds from a push of one latent frame until its video frames are with the sink.
struct PushTimes {
  std::vector<double> first;  // of a clip: one frame
  std::vector<double> later;  // four frames each
};

// Pushes the clip a latent frame at a time; `finish` waits for what was pushed.
void push_singly(wan_vae::Session& session, const TensorView& clip, FrameSink& sink,
                 const std::function<void()>& finish, PushTimes& times);

// Adds first_frame_seconds and push_seconds to a workload's results, and to its line.
void add_pushes(const PushTimes& times, Json::Object& result, std::string& line);

}  // namespace pantograph::bench
