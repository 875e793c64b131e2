// `pantograph bench`, at sizes that take no time.
#include <gtest/gtest.h>

#include "checkpoint/json.h"
#include "cli/program.h"
#include "support/temp_dir.h"

namespace pantograph::test {
namespace {

const Arguments kSmall = {"bench",  "generate", "--frames",  "5",       "--height",
                          "32",     "--width",  "64",        "--steps", "2",
                          "--runs", "1",        "--threads", "1"};

void expect_measured(const Json& result) {
  EXPECT_EQ(*result.find("frames")->integer(), 5);
  EXPECT_EQ(*result.find("steps")->integer(), 2);
  EXPECT_EQ(*result.find("threads")->integer(), 1);
  for (const char* stage : {"text", "step", "decode"}) {
    double least = 0, median = 0, most = 0;
    ASSERT_TRUE(result.find(stage)->find("seconds_min")->number(least)) << stage;
    ASSERT_TRUE(result.find(stage)->find("seconds")->number(median)) << stage;
    ASSERT_TRUE(result.find(stage)->find("seconds_max")->number(most)) << stage;
    EXPECT_TRUE(0 < least && least <= median && median <= most) << stage;
  }
}

TEST(BenchGenerateTest, MeasuresAModelOfItsOwnOrAGivenOne) {
  const Result own = run(kSmall);
  ASSERT_EQ(own.exit_code, 0) << own.err;
  expect_measured(parse_json(own.out, "own"));

  const TempDir dir;
  ASSERT_EQ(run({"make", "pan2", "--tiny", dir / "model"}).exit_code, 0);
  const Result given =
      run(kSmall + Arguments{"--model", dir / "model", "--json", dir / "result.json"});
  ASSERT_EQ(given.exit_code, 0) << given.err;
  EXPECT_EQ(given.out, "");
  expect_measured(parse_json(read_file(dir / "result.json"), "given"));
}

TEST(BenchGenerateTest, SizesAreThoseOfGenerate) {
  const Result result = run({"bench", "generate", "--height", "33"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("height is 33"), std::string::npos) << result.err;
  EXPECT_EQ(run({"bench", "generate", "--device", "cuda"}).exit_code, 2);
}

TEST(BenchDecodeTest, AlgorithmsAreThoseOfDecode) {
  const Result result = run({"bench", "decode", "--algorithm", "fastest"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("auto|fast|general"), std::string::npos) << result.err;
}

TEST(BenchKernelsTest, NeedAGpu) {
  expect_failure(run({"bench", "kernels", "--device", "cpu"}), kUsage, {"cuda"});
  expect_failure(run({"bench", "kernels", "--device", "cuda:99"}), kFailed, {"GPU"});
}

}  // namespace
}  // namespace pantograph::test
