#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/expect_error.h"

namespace pantograph {
namespace {

struct Part {
  std::int64_t begin, end;
};

std::vector<Part> parts(std::int64_t count, std::int64_t grain) {
  std::vector<Part> found;
  std::mutex mutex;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    found.push_back({begin, end});
  });
  return found;
}

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadLimit limit(threads);
    for (const std::int64_t count : {1, 2, 3, 7, 8, 9, 1000}) {
      std::vector<int> visits(static_cast<std::size_t>(count), 0);
      const std::vector<Part> found = parts(count, 1);
      EXPECT_LE(found.size(), static_cast<std::size_t>(threads));
      for (const Part& part : found) {
        for (std::int64_t i = part.begin; i < part.end; ++i) ++visits[static_cast<std::size_t>(i)];
      }
      EXPECT_EQ(visits, std::vector<int>(visits.size(), 1)) << threads << " " << count;
    }
  }
}

TEST(ParallelFor, MakesNoPartSmallerThanTheGrainWhereThereIsMore) {
  const ThreadLimit limit(8);
  EXPECT_EQ(parts(100, 64).size(), 2U);
  EXPECT_EQ(parts(64, 64).size(), 1U);
  EXPECT_EQ(parts(10, 0).size(), 8U);
}

TEST(ParallelFor, NothingToDoCallsNothing) {
  EXPECT_TRUE(parts(0, 1).empty());
  EXPECT_TRUE(parts(-3, 1).empty());
}

TEST(ParallelFor, AnExceptionArrivesOnceAllPartsHaveEnded) {
  for (const int threads : {1, 4}) {
    const ThreadLimit limit(threads);
    std::atomic<int> ended = 0;
    EXPECT_THROW(parallel_for(4, 1,
                              [&](std::int64_t begin, std::int64_t end) {
                                ended += static_cast<int>(end - begin);
                                if (begin == 0) throw std::runtime_error("one part fails");
                              }),
                 std::runtime_error);
    EXPECT_EQ(ended, 4);
  }
}

TEST(ThreadLimit, HoldsInItsThreadAndEndsWithItself) {
  const ThreadLimit outer(3);
  EXPECT_EQ(parts(100, 1).size(), 3U);
  {
    const ThreadLimit inner(1);
    EXPECT_EQ(parts(100, 1).size(), 1U);
    std::size_t elsewhere = 0;
    std::thread([&] {
      const ThreadLimit other(2);
      elsewhere = parts(100, 1).size();
    }).join();
    EXPECT_EQ(elsewhere, 2U);
    EXPECT_EQ(parts(100, 1).size(), 1U);
  }
  EXPECT_EQ(parts(100, 1).size(), 3U);
  const ThreadLimit every(0);
  EXPECT_EQ(parts(1000, 1).size(), static_cast<std::size_t>(available_cores()));
}

TEST(ThreadLimit, RefusesWhatTheSystemWouldEndTheProgramFor) {
  for (const int threads : {-1, 1'000'000}) {
    test::expect_error(ErrorKind::kInvalidArgument, {std::to_string(threads) + " threads"},
                       [&] { const ThreadLimit limit(threads); });
  }
}

}  // namespace
}  // namespace pantograph
