#include "ops/upsample/upsample.h"

#include <gtest/gtest.h>

#include "ops/op_test.h"
#include "support/expect_error.h"

namespace pantograph::ops {
namespace {

using test::expect_error;
using test::HostFrames;
using test::OpRunner;

TEST(NearestUpsample, RepeatsEachPositionFourTimes) {
  HostFrames x(2, 3, 2, 5), y(2, 6, 4, 5);
  x.fill_normal(1);
  OpRunner().run([&](const Context& context) { nearest_upsample(context, x.view, y.view); });
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t r = 0; r < 6; ++r) {
      for (std::int64_t c = 0; c < 4; ++c) {
        for (std::int64_t k = 0; k < 5; ++k) {
          ASSERT_EQ(y.at(t, r, c, k), x.at(t, r / 2, c / 2, k));
        }
      }
    }
  }
}

// Channels [0, C) are the earlier of the two frames, [C, 2 C) the later.
TEST(NearestUpsample, TakesApartTheTwoFramesOfEachPosition) {
  HostFrames x(3, 1, 2, 8), y(6, 2, 4, 4);
  x.fill_normal(1);
  OpRunner().run([&](const Context& context) { nearest_upsample(context, x.view, y.view); });
  for (std::int64_t t = 0; t < 3; ++t) {
    for (std::int64_t r = 0; r < 2; ++r) {
      for (std::int64_t c = 0; c < 4; ++c) {
        for (std::int64_t k = 0; k < 4; ++k) {
          ASSERT_EQ(y.at(2 * t, r, c, k), x.at(t, 0, c / 2, k));
          ASSERT_EQ(y.at(2 * t + 1, r, c, k), x.at(t, 0, c / 2, 4 + k));
        }
      }
    }
  }
}

TEST(NearestUpsample, AnotherShapeIsADefect) {
  HostFrames x(1, 2, 2, 4), y(1, 4, 5, 4), none(0, 2, 2, 4);
  for (const HostFrames* input : {&x, &none}) {
    expect_error(ErrorKind::kInternal, {"nearest_upsample"}, [&] {
      OpRunner().run(
          [&](const Context& context) { nearest_upsample(context, input->view, y.view); });
    });
  }
}

struct Duplicate {
  std::int64_t in, out, temporal_factor, frames;
  bool first;
};

class DuplicateUpsample : public testing::TestWithParam<Duplicate> {};

// As the shortcut is built of tensor operations: channels repeated one by one, the result read as
// [out, ft, 2, 2] per position, and each of the three axes moved behind the one it refines.
TEST_P(DuplicateUpsample, RepeatsInterleavesAndReshapes) {
  const auto [in, out, ft, frames, first] = GetParam();
  const std::int64_t repeats = out * ft * 4 / in, skipped = first ? ft - 1 : 0;
  HostFrames x(frames, 2, 3, in), y(ft * frames - skipped, 4, 6, out);
  x.fill_normal(1);
  OpRunner().run(
      [&](const Context& context) { duplicate_upsample(context, x.view, ft, first, y.view); });
  for (std::int64_t t = 0; t < frames; ++t) {
    for (std::int64_t r = 0; r < 2; ++r) {
      for (std::int64_t c = 0; c < 3; ++c) {
        std::vector<float> interleaved;
        for (std::int64_t channel = 0; channel < in; ++channel) {
          interleaved.insert(interleaved.end(), static_cast<std::size_t>(repeats),
                             x.at(t, r, c, channel));
        }
        auto value = interleaved.begin();
        for (std::int64_t channel = 0; channel < out; ++channel) {
          for (std::int64_t a = 0; a < ft; ++a) {
            for (std::int64_t i = 0; i < 2; ++i) {
              for (std::int64_t j = 0; j < 2; ++j, ++value) {
                const std::int64_t frame = ft * t + a - skipped;
                if (frame >= 0) {
                  ASSERT_EQ(y.at(frame, 2 * r + i, 2 * c + j, channel), *value);
                }
              }
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DuplicateUpsample,
                         testing::Values(Duplicate{8, 8, 2, 3, false}, Duplicate{8, 8, 2, 3, true},
                                         Duplicate{8, 8, 2, 1, true}, Duplicate{8, 4, 1, 2, false},
                                         Duplicate{8, 4, 1, 1, true}, Duplicate{12, 6, 2, 2, true},
                                         Duplicate{12, 6, 1, 2, false},
                                         Duplicate{3, 6, 2, 2, false}, Duplicate{6, 3, 1, 5, true},
                                         Duplicate{32, 4, 2, 2, false}));

// What the released shapes come down to.
TEST(DuplicateUpsample, WithEqualChannelsAndTimeItIsNearestInAllAxes) {
  HostFrames x(2, 2, 2, 4), y(4, 4, 4, 4);
  x.fill_normal(1);
  OpRunner().run(
      [&](const Context& context) { duplicate_upsample(context, x.view, 2, false, y.view); });
  for (std::int64_t t = 0; t < 4; ++t) {
    for (std::int64_t r = 0; r < 4; ++r) {
      for (std::int64_t c = 0; c < 4; ++c) {
        for (std::int64_t k = 0; k < 4; ++k) {
          ASSERT_EQ(y.at(t, r, c, k), x.at(t / 2, r / 2, c / 2, k));
        }
      }
    }
  }
}

TEST(DuplicateUpsample, HalvingTheChannelsTheRowsParityChoosesTheChannel) {
  HostFrames x(1, 2, 2, 8), y(1, 4, 4, 4);
  x.fill_normal(1);
  OpRunner().run(
      [&](const Context& context) { duplicate_upsample(context, x.view, 1, true, y.view); });
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < 4; ++c) {
      for (std::int64_t k = 0; k < 4; ++k) {
        ASSERT_EQ(y.at(0, r, c, k), x.at(0, r / 2, c / 2, 2 * k + r % 2));
      }
    }
  }
}

TEST(DuplicateUpsample, ChannelsThatDoNotDivideAreADefect) {
  HostFrames x(1, 1, 1, 7), y(1, 2, 2, 4);
  expect_error(ErrorKind::kInternal, {"duplicate_upsample"}, [&] {
    OpRunner().run(
        [&](const Context& context) { duplicate_upsample(context, x.view, 1, true, y.view); });
  });
}

}  // namespace
}  // namespace pantograph::ops
