// Seconds that the same thing took, several times.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/json.h"

namespace pantograph::bench {

// Of at least one time.
struct Spread {
  double median = 0, least = 0, most = 0;
};
Spread spread_of(std::vector<double> seconds);

// Adds NAME (the median), NAME_min and NAME_max; nothing where there is no time.
void add_seconds(Json::Object& result, const std::string& name, const std::vector<double>& seconds);

// "MEDIAN s (LEAST to MOST)".
std::string describe(const Spread& spread);

}  // namespace pantograph::bench
