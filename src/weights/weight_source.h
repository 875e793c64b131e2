// A checkpoint's weights with adapters merged into them.
#pragma once

#include <string>
#include <vector>

#include "weights/lora.h"

namespace pantograph {

class WeightSource {
 public:
  // The checkpoint outlives this object, but need not outlive the weights. Throws as read_lora
  // does.
  explicit WeightSource(const Checkpoint& checkpoint, const std::vector<LoraFile>& adapters = {});

  // `name` must be there.
  [[nodiscard]] Weight weight(const std::string& name) const;

 private:
  const Checkpoint& checkpoint_;
  std::vector<LoraUpdates> updates_;
};

}  // namespace pantograph
