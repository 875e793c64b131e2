#include "ops/backends.h"

#include "ops/onednn/adapter.h"

namespace pantograph::ops {

std::vector<std::string> backends() {
  return {std::string("cpu: ") + onednn::version(), "cpu: reference loops"};
}

}  // namespace pantograph::ops
