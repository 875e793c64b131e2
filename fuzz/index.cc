#include "checkpoint/json.h"
#include "checkpoint/shard_index.h"
#include "parsed.h"

using namespace pantograph;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const Json json = parse_json(fuzz::text_of(data, size), "x");
    for (const auto& [shard, tensors] : parse_shard_index(json, "x")) {
      fuzz::expect(!shard.empty() && shard.find('/') == std::string::npos && shard != "..");
      fuzz::expect(!tensors.empty());
    }
  });
}
