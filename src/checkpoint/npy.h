// NumPy's .npy: one array behind a header that is a Python dictionary's text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "pantograph/tensor_view.h"

namespace pantograph {

// The array as a view into the file; one in Fortran order has its first stride smallest. Reads
// versions 1 to 3. Throws Error: kFormat; kUnsupported for big-endian, complex, structured and
// object arrays.
TensorView parse_npy(std::span<const std::byte> file, const std::string& where);

}  // namespace pantograph
