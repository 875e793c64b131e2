// How long the stages of a generation take on a CPU: the program behind `pantograph bench
// generate`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "checkpoint/json.h"
#include "pantograph/execution_context.h"

namespace pantograph::bench {

struct GenerateBench {
  std::filesystem::path model;  // empty: a tiny synthetic checkpoint, made for the run
  std::int64_t frames = 33, height = 320, width = 576;
  std::int64_t steps = 4;
  int runs = 3;     // timed, after one that warms up
  int threads = 0;  // 0: one a core
  CancelToken cancel;
};

// `say` gets lines for a person while it goes on. Throws Error; kInternal where a value of the
// video is not finite.
Json run(const GenerateBench& options, const std::function<void(const std::string&)>& say);

}  // namespace pantograph::bench
