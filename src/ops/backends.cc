#include "ops/backends.h"

#include "device/library.h"
#include "device/runtime.h"
#include "ops/onednn/adapter.h"

namespace pantograph::ops {

std::vector<std::string> backends() {
  std::vector<std::string> lines = {std::string("cpu: ") + onednn::version(),
                                    "cpu: reference loops",
                                    "cuda: " + device::runtime_description()};
  if (device::has_cuda()) {
    for (const std::string& library : device::describe_libraries()) {
      lines.push_back("cuda: " + library);
    }
  }
  return lines;
}

}  // namespace pantograph::ops
