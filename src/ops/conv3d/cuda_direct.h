#pragma once

#include "kernels/wan_vae/conv3d_direct.h"
#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// The problem as the direct kernel takes it, without pointers and positions.
kernels::Conv3dDirect describe_direct(const Conv3dProblem& problem);

}  // namespace pantograph::ops
