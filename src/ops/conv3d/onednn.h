#pragma once

#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// fp32 convolution by oneDNN, channels last. Its packed weights serve every pass size whose kernel
// takes the same layout, which on one size of frames is nearly always all of them.
const Conv3dImplementation& onednn_conv3d();

}  // namespace pantograph::ops
