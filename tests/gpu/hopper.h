// What the tests of Hopper's kernels share.
#pragma once

#include "gpu.h"

namespace pantograph::test {

class OnHopper : public testing::Test {
 protected:
  static bool is_hopper(const device::Gpu& gpu) { return gpu.major == 9 && gpu.minor == 0; }
  void SetUp() override {
    const device::Gpu gpu = device::require_gpu(kGpu.index);
    if (!is_hopper(gpu)) {
      GTEST_SKIP() << gpu.name << " is of compute capability " << gpu.major << "." << gpu.minor
                   << ": these kernels are Hopper's, 9.0";
    }
  }
};

}  // namespace pantograph::test
