// What a call throws: an Error's kind, and a message of one line that says certain things.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "pantograph/error.h"

namespace pantograph::test {

template <typename Call>
void expect_error(ErrorKind kind, std::initializer_list<std::string_view> parts, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_STREQ(to_string(error.kind()), to_string(kind)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string_view part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "no \"" << part << "\" in: " << message;
    }
    return;
  }
  ADD_FAILURE() << "no error; expected one that says: " << (parts.size() ? *parts.begin() : "");
}

}  // namespace pantograph::test
