// The implementations of conv3d in this build, fastest first.
#include <array>

#include "ops/conv3d/conv3d.h"
#include "ops/conv3d/cuda.h"
#include "ops/conv3d/onednn.h"

namespace pantograph::ops {

std::span<const Conv3dImplementation* const> conv3d_implementations() {
  static const std::array<const Conv3dImplementation*, 7> list = {
      &winograd_conv3d(),    &hopper_gemm_conv3d(), &cudnn_by_taps_conv3d(), &cudnn_conv3d(),
      &cuda_direct_conv3d(), &onednn_conv3d(),      &reference_conv3d()};
  return list;
}

}  // namespace pantograph::ops
