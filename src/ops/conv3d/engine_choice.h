// Which of cuDNN's engines runs a convolution: the fastest of those that give the right result.
#pragma once

#include <memory>

#include "ops/conv3d/cuda.h"
#include "ops/cudnn/convolution.h"

namespace pantograph::ops::cudnn {

// No engine gets more workspace than this.
inline constexpr std::size_t kWorkspaceLimit = std::size_t{64} << 20;

struct Engine {
  Engine(const Conv3dProblem& problem, bool is_fused)
      : convolution(problem, is_fused), fused(is_fused) {}
  Convolution convolution;
  int index = 0;
  bool fused;  // y holds bias and residual already
};

// Shared by all sessions on the current device. `bare`: bias and residual are left to the caller.
// The first time, engines are timed in `scratch` and compared with the direct kernel on parts of y;
// the choice is then remembered on disk. A choice made for about as many frames is tried first, so
// that passes of different length take the same arithmetic. Throws Error(kUnsupported) where no
// engine is right.
std::shared_ptr<const Engine> choose_engine(const Conv3dProblem& problem, bool bare,
                                            const CudaWeights& weights, const Scratch& scratch);

}  // namespace pantograph::ops::cudnn
