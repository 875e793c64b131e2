// What this build computes with.
#pragma once

#include <string>
#include <vector>

namespace pantograph::ops {

// One line each, with versions: "cpu: oneDNN 2.6.3", ...
std::vector<std::string> backends();

}  // namespace pantograph::ops
