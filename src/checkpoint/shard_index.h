// The index beside a checkpoint that is split into several safetensors files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/json.h"

namespace pantograph {

// Which tensors each shard holds, by the shard's file name.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

// Throws Error(kFormat), for a shard outside the index's own folder too.
ShardIndex parse_shard_index(const Json& json, const std::string& where);

}  // namespace pantograph
