// Where decoded frames go: a file, a pipe, a tensor, a callback.
#pragma once

#include "pantograph/tensor_view.h"

namespace pantograph {

class FrameSink {
 public:
  FrameSink() = default;
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;
  // A sink destroyed before finish() leaves no output behind.
  virtual ~FrameSink() = default;

  // `frames` [n, H, W, 3], f32 on the CPU, RGB in [-1, 1], dense; valid during the call only.
  virtual void write(const TensorView& frames) = 0;

  // All frames are written: the output becomes visible under its name.
  virtual void finish() {}
};

}  // namespace pantograph
