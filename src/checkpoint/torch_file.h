// Files of torch.save (.pt, .pth): a zip that holds a pickle and the tensors' bytes.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "pantograph/tensor_view.h"

namespace pantograph {

// The tensors of a file, as views into it. A tensor's name is its path in the containers, joined by
// dots ("state_dict.conv1.weight", "0"); a file that is one tensor gives it the name "tensor".
// Strides are the file's own. Whatever else stands beside the tensors, such as numbers and strings,
// is left out.
// Throws Error: kFormat; kUnsupported for anything but tensors in plain containers (naming it), for
// tensors of another byte order, and for the format before torch 1.6, which is no zip.
std::map<std::string, TensorView> parse_torch_file(std::span<const std::byte> file,
                                                   const std::string& where);

}  // namespace pantograph
