#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace pantograph {
namespace {

// SplitMix64 with the state 0, whose first outputs are published; stream and seed 0 keep key 0.
TEST(Random, IsSplitMix64OverACounter) {
  const Random random(0, 0);
  EXPECT_EQ(random.bits(1), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(random.bits(2), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(random.bits(3), 0x06c45d188009454fULL);
}

TEST(Random, DependsOnSeedStreamAndIndexOnly) {
  EXPECT_EQ(Random(5, 7).bits(9), Random(5, 7).bits(9));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t stream = 0; stream < 10; ++stream) {
      for (std::uint64_t index = 0; index < 10; ++index) {
        seen.insert(Random(seed, stream).bits(index));
      }
    }
  }
  EXPECT_GE(seen.size(), 999U);  // key 0's index 0 is 0, as is no other
}

TEST(Random, UniformHasTheMomentsOfTheUnitInterval) {
  const Random random(1, 2);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double u = random.uniform(i);
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.005);
}

TEST(Random, NormalHasTheMomentsOfItsName) {
  const Random random(1, 2);
  double moments[4] = {};
  constexpr int kCount = 100000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double z = random.normal(i);
    ASSERT_TRUE(std::isfinite(z));
    for (int k = 0; k < 4; ++k) moments[k] += std::pow(z, k + 1) / kCount;
  }
  EXPECT_NEAR(moments[0], 0, 0.02);
  EXPECT_NEAR(moments[1], 1, 0.02);
  EXPECT_NEAR(moments[2], 0, 0.05);
  EXPECT_NEAR(moments[3], 3, 0.15);
}

}  // namespace
}  // namespace pantograph
