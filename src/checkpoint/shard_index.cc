#include "checkpoint/shard_index.h"

#include <string_view>

#include "core/check.h"

namespace pantograph {

ShardIndex parse_shard_index(const Json& json, const std::string& where) {
  const Json* const weight_map = json.find("weight_map");
  if (weight_map == nullptr || weight_map->object() == nullptr || weight_map->object()->empty()) {
    fail(ErrorKind::kFormat, where,
         ": no \"weight_map\" that gives each tensor the file that holds it");
  }
  ShardIndex shards;
  for (const auto& [tensor, value] : *weight_map->object()) {
    const std::string* const shard = value.string();
    if (shard == nullptr) {
      fail(ErrorKind::kFormat, where, ": the tensor ", Json(tensor).dump(),
           " has a file name that is not a string");
    }
    // An index must not lead out of its own folder.
    if (shard->empty() || *shard == "." || *shard == ".." ||
        shard->find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      fail(ErrorKind::kFormat, where, ": the shard ", value.dump(),
           " is not the name of a file beside the index");
    }
    shards[*shard].push_back(tensor);
  }
  return shards;
}

}  // namespace pantograph
