// GPU time by kernel, from CUPTI's activity records.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/json.h"

namespace pantograph::bench {

// Records from when it is made. One at a time in a process: CUPTI's callbacks carry no context.
class KernelTable {
 public:
  KernelTable();
  ~KernelTable();
  KernelTable(const KernelTable&) = delete;
  KernelTable& operator=(const KernelTable&) = delete;

  // Stops recording and says one line a kernel, the longest first.
  Json finish(const std::function<void(const std::string&)>& say);
};

}  // namespace pantograph::bench
