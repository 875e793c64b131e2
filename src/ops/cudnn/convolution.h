// Convolutions by cuDNN's graph API. cudnn-frontend is included in convolution.cc only.
#pragma once

#include <memory>
#include <string>

#include "ops/conv3d/conv3d.h"

namespace pantograph::ops::cudnn {

std::string version();  // "9.19.0"; throws Error where the library is not found

// One problem's graph, and the engines that cuDNN proposes for it, best first by its heuristics.
// `fused`: bias and, where the problem accumulates, residual are added in f32 before the one
// rounding to bf16; else y is the bare convolution. Works on the device that was current when it
// was made; for several threads at a time once built. Several can be made and built at a time.
class Convolution {
 public:
  Convolution(const Conv3dProblem& problem, bool fused);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  [[nodiscard]] int engines() const;
  [[nodiscard]] std::string engine_name(int engine) const;
  // Makes an engine ready; false where cuDNN cannot or it needs more workspace than that.
  bool build(int engine, std::size_t workspace_limit);

  struct Pointers {
    const void* x = nullptr;
    const void* weights = nullptr;
    const void* bias = nullptr;
    void* y = nullptr;  // and the residual
    void* workspace = nullptr;
  };
  void run(int engine, const Pointers& pointers, void* stream) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace pantograph::ops::cudnn
