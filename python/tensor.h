// PyTorch tensors as views, through the C exchange API of DLPack: no conversion, no copy, and no
// torch at build time. PyTorch has it from 2.10 on.
#pragma once

#include <nanobind/nanobind.h>

#include "pantograph/tensor_view.h"

namespace pantograph {

TensorView view_of(nanobind::handle tensor);

// The stream that work on this device should go to, a cudaStream_t; nullptr on a CPU.
void* current_stream(nanobind::handle tensor, const Device& device);

}  // namespace pantograph
