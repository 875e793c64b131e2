#include "bench/seconds.h"

#include <gtest/gtest.h>

namespace pantograph::bench {
namespace {

TEST(SecondsTest, MedianLeastAndMostOfAnyOrder) {
  Json::Object result;
  add_seconds(result, "push_seconds", {0.5, 0.125, 0.25});
  EXPECT_EQ(Json(result).dump(),
            R"({"push_seconds":0.25,"push_seconds_min":0.125,"push_seconds_max":0.5})");
  EXPECT_EQ(describe(spread_of({0.5, 0.125, 0.25})), "0.25 s (0.125 to 0.5)");
}

TEST(SecondsTest, NothingIsSaidOfNoTimes) {
  Json::Object result;
  add_seconds(result, "push_seconds", {});
  EXPECT_TRUE(result.empty());
}

}  // namespace
}  // namespace pantograph::bench
