// What every op is run with.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/check.h"
#include "pantograph/execution_context.h"

namespace pantograph::ops {

class PlanCache;

// How dear a device's memory is where larger weights would save time.
enum class Thrift : std::uint8_t { kNone, kSome, kMost };

struct Context {
  Device device{};
  void* stream = nullptr;
  Arena* arena = nullptr;      // activations and workspaces
  PlanCache* plans = nullptr;  // one for each session
  // While planning, ops take what memory they need and touch none of it.
  bool planning = false;
  Algorithm algorithm = Algorithm::kAuto;
  Thrift thrift = Thrift::kNone;
  const CancelToken* cancel = nullptr;

  void stop_if_cancelled() const {
    if (cancel != nullptr && cancel->cancelled()) {
      throw Error(ErrorKind::kCancelled, "the work was cancelled");
    }
  }
};

}  // namespace pantograph::ops
