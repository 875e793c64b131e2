#pragma once

#include <functional>
#include <vector>

namespace pantograph::device {

// Milliseconds of each of `runs` runs of what launch() puts on the stream, one right after the
// other.
std::vector<double> time_each(int runs, void* stream, const std::function<void()>& launch);

}  // namespace pantograph::device
