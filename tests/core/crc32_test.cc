#include "core/crc32.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace pantograph {
namespace {

using test::as_bytes;

// The check value of the catalogues of CRCs, and zlib's of a longer text.
TEST(Crc32, AgreesWithOthers) {
  EXPECT_EQ(crc32({}), 0U);
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xcbf43926U);
  EXPECT_EQ(crc32(as_bytes("The quick brown fox jumps over the lazy dog")), 0x414fa339U);
}

}  // namespace
}  // namespace pantograph
