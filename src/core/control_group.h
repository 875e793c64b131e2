// What this process's control groups leave it of the machine's memory, as a container or a job
// limits it.
#pragma once

#include <cstddef>
#include <filesystem>

namespace pantograph {

// Bytes until the nearest limit of the process's group and those around it, version 1 or 2; the
// largest number where there is none. `root` is where proc and sys are.
std::size_t control_group_available(const std::filesystem::path& root);

}  // namespace pantograph
