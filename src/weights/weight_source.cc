#include "weights/weight_source.h"

#include "core/check.h"

namespace pantograph {

WeightSource::WeightSource(const Checkpoint& checkpoint, const std::vector<LoraFile>& adapters)
    : checkpoint_(checkpoint) {
  for (const LoraFile& adapter : adapters) updates_.push_back(read_lora(adapter, checkpoint));
}

Weight WeightSource::weight(const std::string& name) const {
  const auto found = checkpoint_.tensors.find(name);
  require(found != checkpoint_.tensors.end(), "no tensor ", name);
  Weight weight(found->second);
  for (const LoraUpdates& updates : updates_) {
    const auto update = updates.find(name);
    if (update != updates.end()) weight.add(update->second);
  }
  return weight;
}

}  // namespace pantograph
