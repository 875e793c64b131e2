#include "weights/weight.h"

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "core/convert.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::TempDir;

const std::vector<float> kValues = {1, -0.5F, 2, 0.25F, -3, 8};  // exact in every dtype
constexpr std::array<std::int64_t, 2> kShape = {3, 2};

TEST(Weight, HoldsValuesInMemory) {
  const Weight weight(kValues, kShape);
  const Weight copy = weight;
  EXPECT_EQ(copy.to_f32(), kValues);
  EXPECT_EQ(copy.elements(), 6);
  EXPECT_EQ(std::vector<std::int64_t>(copy.shape().begin(), copy.shape().end()),
            (std::vector<std::int64_t>{3, 2}));
  copy.release_pages();  // nothing to give back
  EXPECT_EQ(weight.to_f32(), kValues);
}

TEST(Weight, AShapeItsValuesDoNotFillIsADefect) {
  expect_error(ErrorKind::kInternal, {"do not fill"}, [] { return Weight({1, 2, 3}, kShape); });
}

TEST(Weight, ReadsEveryFloatingTypeOfAFileAlsoAfterItsPagesWentBack) {
  const TempDir folder;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(to_string(dtype));
    const auto path = folder / std::string(to_string(dtype));
    SafetensorsWriter writer(path, {{"w", dtype, {3, 2}}});
    std::vector<std::byte> stored(kValues.size() * size_of(dtype));
    convert_from_f32(kValues.data(), dtype, stored.data(), 6);
    writer.append(stored.data(), stored.size());
    writer.finish();
    const SafetensorsFile file = SafetensorsFile::open(path);
    const Weight weight(CheckpointTensor{file.view("w"), file.file()});
    EXPECT_EQ(weight.to_f32(), kValues);
    weight.release_pages();
    EXPECT_EQ(weight.to_f32(), kValues);
  }
}

// Rows of [3, 2] with 0.5 B A merged in, A = [[1, 2]] and B = [[1], [0], [-2]].
TEST(Weight, MergesAnUpdateIntoEachRow) {
  Weight weight(kValues, kShape);
  EXPECT_NE(weight.stored(), nullptr);
  weight.add(std::make_shared<LowRankUpdate>(
      LowRankUpdate{.rank = 1, .scale = 0.5, .a = {1, 2}, .b = {1, 0, -2}}));
  EXPECT_EQ(weight.stored(), nullptr);
  EXPECT_EQ(weight.to_f32(), (std::vector<float>{1.5F, 0.5F, 2, 0.25F, -4, 6}));
  EXPECT_EQ(weight.row_to_f32(0), (std::vector<float>{1.5F, 0.5F}));
  EXPECT_EQ(weight.row_to_f32(2), (std::vector<float>{-4, 6}));
}

}  // namespace
}  // namespace pantograph
