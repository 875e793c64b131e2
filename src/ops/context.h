// What every op is run with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "core/check.h"
#include "pantograph/execution_context.h"

namespace pantograph::ops {

class PlanCache;

// How dear a device's memory is, where more of it for weights and workspaces would save time.
enum class Thrift : std::uint8_t { kNone, kSome, kMost };
// The workspace to stay within, of one that is best: all of it, a half or a quarter.
constexpr std::size_t thrifty(std::size_t workspace, Thrift thrift) {
  return workspace >> static_cast<int>(thrift);
}

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
