#include "checkpoint/pickle.h"

#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"
#include "support/fixture.h"

namespace pantograph {
namespace {

using test::as_bytes;
using test::expect_error;

// Opcodes are spelled as pickletools names them; \x80\x02 begins protocol 2.
Pickle parse(const std::string& text) {
  return parse_pickle(as_bytes(text), "x.pkl");
}
template <typename T>
T root(const std::string& text) {
  const Pickle pickle = parse(text);
  return std::get<T>(pickle[pickle.root]);
}
void refused(ErrorKind kind, const std::string& text, std::string_view says) {
  expect_error(kind, {"x.pkl: ", says}, [&] { parse(text); });
}

TEST(Pickle, Numbers) {
  EXPECT_EQ(root<std::int64_t>("K\xff."), 255);
  EXPECT_EQ(root<std::int64_t>(std::string("M\xff\x00.", 4)), 255);
  EXPECT_EQ(root<std::int64_t>("J\xfb\xff\xff\xff."), -5);
  EXPECT_EQ(root<std::int64_t>(std::string("\x8a\x00.", 3)), 0);
  EXPECT_EQ(root<std::int64_t>("\x8a\x01\xfe."), -2);
  EXPECT_EQ(root<std::int64_t>(std::string("\x8a\x06\x00\x00\x00\x00\x00\x01.", 9)),
            std::int64_t{1} << 40);
  EXPECT_EQ(root<double>(std::string("G\x3f\xf8\x00\x00\x00\x00\x00\x00.", 10)), 1.5);
  EXPECT_TRUE(root<bool>("\x88."));
  EXPECT_FALSE(root<bool>("\x89."));
}

TEST(Pickle, ContainersShareWhatTheMemoHolds) {
  // [(), x, x] with x = {1: None}
  const std::string text =
      "\x80\x02](}q\x05K\x01Ns)h\x05h\x05"
      "e.";
  const Pickle pickle = parse(text);
  const auto& list = std::get<Pickle::List>(pickle[pickle.root]);
  ASSERT_EQ(list.items.size(), 4U);
  EXPECT_EQ(list.items[0], list.items[2]);
  EXPECT_EQ(list.items[0], list.items[3]);
  EXPECT_EQ(std::get<Pickle::Dict>(pickle[list.items[0]]).items.size(), 1U);
  EXPECT_TRUE(std::get<Pickle::Tuple>(pickle[list.items[1]]).items.empty());
}

TEST(Pickle, AnOrderedDictIsADict) {
  const std::string text = "ccollections\nOrderedDict\n)RK\x01K\x02s}b.";
  EXPECT_EQ(root<Pickle::Dict>(text).items.size(), 1U);
}

TEST(Pickle, NothingIsImported) {
  refused(ErrorKind::kUnsupported, "cos\nsystem\n(X\x02\0\0\0lstR.", "wants \"os.system\"");
  refused(ErrorKind::kUnsupported, "cbuiltins\neval\n.", "wants \"builtins.eval\"");
  refused(ErrorKind::kUnsupported, "\x8c\x02os\x8c\x06system\x93.", "wants \"os.system\"");
  // A name on the list is a constant, not to be called; and only its own whole name counts.
  refused(ErrorKind::kUnsupported, "ctorch\nFloatStorage\n)R.", "a call of torch.FloatStorage");
  refused(ErrorKind::kUnsupported, "ctorch._utils\n_rebuild_tensor_v2.x\n.", "_v2.x\"");
}

TEST(Pickle, OtherOpcodesAreRefused) {
  refused(ErrorKind::kUnsupported, "i\n\n.", "the pickle opcode 105");     // INST
  refused(ErrorKind::kUnsupported, "(o.", "the pickle opcode 111");        // OBJ
  refused(ErrorKind::kUnsupported, "\x82\x01.", "the pickle opcode 130");  // EXT1
  refused(ErrorKind::kUnsupported, "\x80\x01.", "pickle protocol 1; expected 2 to 5");
  refused(ErrorKind::kUnsupported, "\x80\x06.", "pickle protocol 6");
}

TEST(Pickle, Damage) {
  refused(ErrorKind::kFormat, "", "the file is truncated or damaged");
  refused(ErrorKind::kFormat, "N", "the file is truncated or damaged");
  refused(ErrorKind::kFormat, ".", "a value is missing");
  refused(ErrorKind::kFormat, "t.", "a mark is missing");
  refused(ErrorKind::kFormat, "N(\x85.", "a value is missing");  // not across a mark
  refused(ErrorKind::kFormat, "h\x01.", "used before it is given");
  refused(ErrorKind::kFormat, "NNa.", "items for what is no list");
  refused(ErrorKind::kFormat, "}(Nu.", "items for what is no dict");
  refused(ErrorKind::kFormat, "NN\x93.", "a name that is no string");
  refused(ErrorKind::kFormat, "N)R.", "a call of what is no function");
  refused(ErrorKind::kFormat, "X\xff\xff\xff\xff.", "4294967295 bytes");
  refused(ErrorKind::kUnsupported, "NNb.", "attributes of what is no dict");
  refused(ErrorKind::kUnsupported,
          "\x8a\x09"
          "123456789.",
          "an integer of 9 bytes");
}

TEST(Pickle, LimitsOnWhatAFileMayAskFor) {
  refused(ErrorKind::kFormat, std::string(4'000'001, 'N') + ".", "more than 4000000 values");
  refused(ErrorKind::kFormat, std::string((64 << 20) + 1, 'N'), "this is no checkpoint");
}

}  // namespace
}  // namespace pantograph
