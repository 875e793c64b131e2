// Engines of cuDNN run on made-up frames: how fast they are, and whether they are right.
#pragma once

#include <cuda_runtime_api.h>

#include "ops/conv3d/engine_choice.h"

namespace pantograph::ops::cudnn {

// Of one problem, in scratch memory for x, y and kWorkspaceLimit bytes. All it is given stays where
// it is.
class Trial {
 public:
  Trial(const Conv3dProblem& problem, const CudaWeights& weights, const Scratch& scratch);

  // Milliseconds of a run, with the kernel that adds the bias after an engine that does not: the
  // median of those that follow as many others, of three runs or of what fits `window`
  // milliseconds.
  [[nodiscard]] double milliseconds(const Engine& engine, double window) const;
  // Relative error against the direct kernel; NaN and what was not written count as infinite.
  [[nodiscard]] double error(const Engine& engine) const;

 private:
  void run(const Engine& engine) const;
  [[nodiscard]] std::size_t window_bytes(std::int64_t positions) const;
  [[nodiscard]] std::byte* result(std::int64_t position) const;

  const Conv3dProblem& problem_;
  const CudaWeights& weights_;
  cudaStream_t stream_;
  std::int64_t x_elements_ = 0, positions_ = 0;
  Plan::Pointers pointers_;
};

}  // namespace pantograph::ops::cudnn
