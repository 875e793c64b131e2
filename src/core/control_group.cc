#include "core/control_group.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace pantograph {
namespace {

using std::filesystem::path;

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// What a version calls the files of a group.
struct Names {
  const char* limit;
  const char* used;
  const char* inactive;  // a line of memory.stat
};
constexpr Names kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file"};
constexpr Names kVersion2 = {"memory.max", "memory.current", "inactive_file"};

// kUnlimited where the file says "max" or is absent.
std::size_t read_number(const path& name) {
  std::ifstream file(name);
  std::size_t value = 0;
  return file >> value ? value : kUnlimited;
}

std::size_t read_statistic(const path& name, const std::string& wanted) {
  std::ifstream file(name);
  std::string key;
  std::size_t value = 0;
  while (file >> key >> value) {
    if (key == wanted) return value;
  }
  return 0;
}

std::size_t group_available(const path& group, const Names& names) {
  const std::size_t limit = read_number(group / names.limit);
  const std::size_t used = read_number(group / names.used);
  if (limit == kUnlimited || used == kUnlimited) return kUnlimited;
  // Copies of files that nobody reads any more: the system takes them back before it refuses
  // memory.
  const std::size_t inactive = read_statistic(group / "memory.stat", names.inactive);
  const std::size_t held = used - std::min(used, inactive);
  return limit - std::min(limit, held);
}

// A group in a container may be named as the machine knows it; then only the mount itself is there.
std::size_t least_available(const path& mount, path group, const Names& names) {
  std::size_t least = group_available(mount, names);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    least = std::min(least, group_available(mount / group, names));
  }
  return least;
}

}  // namespace

std::size_t control_group_available(const path& root) {
  const path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  std::size_t least = kUnlimited;
  // A line is "4:memory,cpu:/group" in version 1 and "0::/group" in version 2.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const path group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, least_available(mount, group, kVersion2));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_available(mount / "memory", group, kVersion1));
    }
  }
  return least;
}

}  // namespace pantograph
