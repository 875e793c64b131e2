// The CUDA version whose libraries this build calls: their file names end in it.
#pragma once

namespace pantograph::device {

extern const int kCudaMajor;  // 0 in a build without CUDA

}  // namespace pantograph::device
