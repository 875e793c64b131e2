#include "checkpoint/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "support/expect_error.h"

namespace pantograph {
namespace {

using test::expect_error;

double number_of(const std::string& text) {
  double value = std::nan("");
  EXPECT_TRUE(parse_json(text, "file").number(value)) << text;
  return value;
}

void expect_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
  expect_error(ErrorKind::kFormat, {"a.json: not valid JSON at line "},
               [&] { parse_json(text, "a.json"); });
  expect_error(ErrorKind::kFormat, parts, [&] { parse_json(text, "a.json"); });
}

TEST(Json, ValuesOfEveryType) {
  const Json json = parse_json(
      R"( {"none": null, "yes": true, "n": -3, "x": 0.5, "s": "a\u00e9\n", "list": [1, [], {}]} )",
      "file");
  ASSERT_NE(json.object(), nullptr);
  EXPECT_EQ(json.object()->size(), 6U);
  EXPECT_TRUE(json.find("none")->is_null());
  EXPECT_TRUE(*json.find("yes")->boolean());
  EXPECT_EQ(*json.find("n")->integer(), -3);
  EXPECT_EQ(json.find("x")->integer(), nullptr);
  EXPECT_EQ(*json.find("s")->string(), "a\u00e9\n");
  EXPECT_EQ(json.find("list")->array()->size(), 3U);
  EXPECT_EQ(json.find("absent"), nullptr);
  EXPECT_EQ(json.find("list")->find("n"), nullptr);
}

TEST(Json, MembersKeepTheFilesOrder) {
  const Json json = parse_json(R"({"b": 1, "a": 2, "c": 3})", "file");
  EXPECT_EQ(json.dump(), R"({"b":1,"a":2,"c":3})");
  EXPECT_EQ(json.dump(1), "{\n \"b\": 1,\n \"a\": 2,\n \"c\": 3\n}");
}

TEST(Json, WholeNumbersAreIntegersAndNumbers) {
  EXPECT_EQ(*parse_json("9223372036854775807", "file").integer(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parse_json("-9223372036854775808", "file").integer(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(number_of("12"), 12.0);
  EXPECT_EQ(number_of("1.5e3"), 1500.0);
  EXPECT_EQ(parse_json("2.0", "file").integer(), nullptr);
  double value = 7;
  EXPECT_FALSE(parse_json("\"1\"", "file").number(value));
  EXPECT_EQ(value, 7);
}

TEST(Json, DoublesReadBackToTheSameBits) {
  for (const double value : {0.1, -0.0, 1.0, 1e22, 5e-324, 1.7976931348623157e308, -2.8184e-3}) {
    const double back = number_of(Json(value).dump());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value)) << value;
  }
}

TEST(Json, DumpEscapesStrings) {
  EXPECT_EQ(Json(std::string("a\"b\n\x01")).dump(), R"("a\"b\n\u0001")");
  EXPECT_EQ(Json(std::string("\xff")).dump(), "\"\xef\xbf\xbd\"");  // not UTF-8: U+FFFD
}

TEST(Json, DumpRefusesWhatJsonLacks) {
  expect_error(ErrorKind::kInvalidArgument, {"JSON cannot hold"},
               [] { return Json(std::numeric_limits<double>::infinity()).dump(); });
}

TEST(Json, NestingTo64LevelsAndNoFurther) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parse_json(nested(64), "file").dump(), nested(64));
  expect_refused(nested(65), {"line 1, column 65", "deeper than 64 levels"});
  expect_refused(std::string(1'000'000, '['), {"deeper than 64 levels"});
}

TEST(Json, ADuplicateKeyIsRefused) {
  expect_refused("{\"a\": 1,\n \"a\": 2}", {"line 2, column 4", "\"a\" stands twice"});
  EXPECT_EQ(parse_json(R"({"a": {"a": 1}, "b": {"a": 2}})", "file").object()->size(), 2U);
}

TEST(Json, IntegersBeyond64BitsAreRefused) {
  expect_refused("[9223372036854775808]", {"line 1, column 21", "beyond 64 bits"});
  expect_refused("[18446744073709551616]", {"beyond 64 bits"});
  expect_refused("[-9223372036854775809]", {"beyond 64 bits"});
  expect_refused("[1e999]", {"too large for a double"});
}

TEST(Json, InvalidUtf8IsRefused) {
  expect_refused("{\n\"a\": \"\xff\"}", {"line 2, column 7", "UTF-8"});
  expect_refused("\"\xc0\xaf\"", {"UTF-8"});      // an overlong slash
  expect_refused("\"\xed\xa0\x80\"", {"UTF-8"});  // a surrogate
  expect_refused(R"("\ud800")", {"surrogate"});
}

TEST(Json, SyntaxErrorsSayWhere) {
  expect_refused("", {"line 1, column 1", "unexpected end of input"});
  expect_refused("{\"a\": }", {"line 1, column 7", "unexpected '}'"});
  expect_refused("{\n  \"a\": 1,\n}", {"line 3, column 1", "expected string literal"});
  expect_refused("[1, 2", {"unexpected end of input"});
  expect_refused("{} x", {"line 1, column 4"});
  expect_refused("[NaN]", {"line 1, column 2", "invalid literal"});
  expect_refused("\"a\nb\"", {"line 1, column 3", "control character"});
  expect_refused(std::string("{}\0{", 4), {"line 1, column 3", "a zero byte"});
}

}  // namespace
}  // namespace pantograph
