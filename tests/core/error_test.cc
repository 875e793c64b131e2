#include "pantograph/error.h"

#include <gtest/gtest.h>

namespace pantograph {
namespace {

TEST(Error, IsOneLineWhateverNamesAreInIt) {
  const Error error(ErrorKind::kFormat, "x.json: \"a\nb\t\x1b[2J\x7f\" is \xc3\xa9");
  EXPECT_STREQ(error.what(), "x.json: \"a\\nb\\x09\\x1b[2J\\x7f\" is \xc3\xa9");
  EXPECT_EQ(error.kind(), ErrorKind::kFormat);
}

}  // namespace
}  // namespace pantograph
