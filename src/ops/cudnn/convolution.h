// Convolutions by cuDNN's graph API. cudnn-frontend is included in convolution.cc only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ops/conv3d/conv3d.h"

namespace pantograph::ops::cudnn {

std::string version();  // "9.19.0"; throws Error where the library is not found

// One engine, compiled for one problem. Works on the device that was current when it was made; for
// several threads at a time.
class Plan {
 public:
  struct Pointers {
    const void* x = nullptr;
    const void* weights = nullptr;
    const void* bias = nullptr;
    void* y = nullptr;  // and the residual
    void* workspace = nullptr;
  };

  // What save() gave for this problem and engine, on a GPU of the same kind and with the same
  // version of cuDNN, without compiling it. Nothing where cuDNN does not take it.
  static std::optional<Plan> load(const Conv3dProblem& problem, bool fused, std::string engine_name,
                                  const std::string& saved, std::size_t workspace_limit);
  // With the code that cuDNN compiled, if it did. Empty where cuDNN cannot save the engine.
  [[nodiscard]] std::string save() const;

  [[nodiscard]] const std::string& engine_name() const;
  void run(const Pointers& pointers, void* stream) const;

 private:
  friend class Convolution;
  struct Native;
  explicit Plan(std::shared_ptr<const Native> native) : native_(std::move(native)) {}
  std::shared_ptr<const Native> native_;
};

// One problem's graph, and the engines that cuDNN proposes for it, best first by its heuristics.
// `fused`: bias and, where the problem accumulates, residual are added in f32 before the one
// rounding to bf16; else y is the bare convolution. On the device that is current when it is made,
// which must be current still when it builds. Several can be made and built at a time.
class Convolution {
 public:
  Convolution(const Conv3dProblem& problem, bool fused);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  [[nodiscard]] int engines() const;
  [[nodiscard]] std::string engine_name(int engine) const;
  // Nothing where cuDNN cannot or the engine needs more workspace than that. A plan outlives the
  // graph it was built from.
  std::optional<Plan> build(int engine, std::size_t workspace_limit);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace pantograph::ops::cudnn
