// Which of cuDNN's engines runs a convolution: the fastest of those that give the right result.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "ops/conv3d/cuda.h"
#include "ops/cudnn/convolution.h"

namespace pantograph::ops::cudnn {

// No engine gets more workspace than this.
inline constexpr std::size_t kWorkspaceLimit = std::size_t{64} << 20;

struct Engine {
  [[nodiscard]] std::string choice() const;  // its name, for this version of cuDNN
  Plan plan;
  bool fused;           // y holds bias and residual already
  bool loaded = false;  // from disk
};

struct EngineTable;  // what the process knows of one GPU
using Engines = std::vector<std::shared_ptr<Engine>>;

// The choice for one problem on the current device, shared by all sessions. The first time, engines
// are timed and compared with the direct kernel on parts of y; what is chosen is then remembered on
// disk, and the engine kept there as it was compiled. A choice made for about as many frames is
// tried first, so that passes of different length take the same arithmetic. Used by one thread.
class EngineChoice {
 public:
  // `bare`: bias and residual are left to the caller.
  EngineChoice(const Conv3dProblem& problem, bool bare);
  EngineChoice(const EngineChoice&) = delete;
  EngineChoice& operator=(const EngineChoice&) = delete;
  ~EngineChoice();

  // Loads or builds engines in another thread: cuDNN compiles most of them, half a second each.
  // False, and nothing built, where a choice for about as many frames has begun, which will tell
  // the engine.
  bool begin();
  void wait() const;  // until they are built
  // Times them in `scratch`. Throws Error(kUnsupported) where no engine is right.
  std::shared_ptr<const Engine> finish(const CudaWeights& weights, const Scratch& scratch);

 private:
  void stop_choosing();  // under the table's lock

  const Conv3dProblem problem_;
  const bool bare_;
  const std::string key_;
  EngineTable* table_ = nullptr;
  std::string known_;     // the engine that is built alone
  bool chooses_ = false;  // among all engines, since begin()
  std::future<Engines> built_;
};

}  // namespace pantograph::ops::cudnn
