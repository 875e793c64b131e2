#include "bench/seconds.h"

#include <algorithm>

#include "core/check.h"

namespace pantograph::bench {

Spread spread_of(std::vector<double> seconds) {
  require(!seconds.empty(), "no times to tell the spread of");
  std::ranges::sort(seconds);
  return {.median = seconds[seconds.size() / 2], .least = seconds.front(), .most = seconds.back()};
}

void add_seconds(Json::Object& result, const std::string& name,
                 const std::vector<double>& seconds) {
  if (seconds.empty()) return;
  const Spread spread = spread_of(seconds);
  result.insert(result.end(), {{name, Json(spread.median)},
                               {name + "_min", Json(spread.least)},
                               {name + "_max", Json(spread.most)}});
}

std::string describe(const Spread& spread) {
  return join(spread.median, " s (", spread.least, " to ", spread.most, ")");
}

}  // namespace pantograph::bench
