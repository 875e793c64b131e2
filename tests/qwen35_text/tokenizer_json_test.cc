// What of a tokenizer.json is not supported, and what is broken.
#include "models/qwen35_text/tokenizer_json.h"

#include <gtest/gtest.h>

#include "qwen35_text/cases.h"
#include "support/expect_error.h"

namespace pantograph::qwen35_text {
namespace {

using test::expect_error;
using test::tokenizer_json;
using test::with;

Json json(std::string_view text) {
  return parse_json(text, "test");
}

void expect_refused(ErrorKind kind, std::string_view says, const Json& changed) {
  expect_error(kind, {"tokenizer.json: ", says},
               [&] { parse_tokenizer(changed, "tokenizer.json"); });
}

void expect_refused(ErrorKind kind, std::string_view says, const std::string& key,
                    std::string_view value) {
  expect_refused(kind, says, with(tokenizer_json(), key, json(value)));
}

void expect_model_refused(ErrorKind kind, std::string_view says, const std::string& key,
                          std::string_view value) {
  const Json whole = tokenizer_json();
  expect_refused(kind, says, with(whole, "model", with(*whole.find("model"), key, json(value))));
}

constexpr auto kUnsupported = ErrorKind::kUnsupported;
constexpr auto kFormat = ErrorKind::kFormat;

TEST(TokenizerJson, OtherModelsAreNamed) {
  expect_model_refused(kUnsupported, "\"WordPiece\"", "type", R"("WordPiece")");
  expect_model_refused(kUnsupported, "continuing_subword_prefix", "continuing_subword_prefix",
                       R"("##")");
  expect_model_refused(kUnsupported, "end_of_word_suffix", "end_of_word_suffix", R"("</w>")");
  expect_model_refused(kUnsupported, "dropout", "dropout", "0.1");
  expect_model_refused(kUnsupported, "byte_fallback", "byte_fallback", "true");
}

TEST(TokenizerJson, OtherStepsAreNamed) {
  expect_refused(kUnsupported, "\"Lowercase\"", "normalizer", R"({"type": "Lowercase"})");
  expect_refused(kUnsupported, "\"NFKC\"", "normalizer",
                 R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]})");
  expect_refused(kUnsupported, "\"Metaspace\"", "pre_tokenizer", R"({"type": "Metaspace"})");
  expect_refused(kUnsupported, "no ByteLevel", "pre_tokenizer", "null");
  expect_refused(kUnsupported, "add_prefix_space", "pre_tokenizer",
                 R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})");
  expect_refused(kUnsupported, "\"Split\" is not supported here", "pre_tokenizer",
                 R"({"type": "Sequence", "pretokenizers": [
                     {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
                     {"type": "Split"}]})");
  expect_refused(kUnsupported, "\"Removed\"", "pre_tokenizer",
                 R"({"type": "Split", "behavior": "Removed", "pattern": {"Regex": "a"}})");
  expect_refused(kUnsupported, "invert", "pre_tokenizer",
                 R"({"type": "Split", "behavior": "Isolated", "invert": true,
                     "pattern": {"Regex": "a"}})");
  expect_refused(kUnsupported, "\"Regex\"", "pre_tokenizer",
                 R"({"type": "Split", "behavior": "Isolated", "pattern": {"String": "a"}})");
  expect_refused(kUnsupported, "\"TemplateProcessing\"", "post_processor",
                 R"({"type": "TemplateProcessing"})");
}

TEST(TokenizerJson, ABrokenExpressionIsSaid) {
  expect_refused(kFormat, "regular expression is not valid at character", "pre_tokenizer",
                 R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a"}})");
}

TEST(TokenizerJson, BrokenFilesAreSaid) {
  expect_error(kFormat, {"x: expected a JSON object"}, [] { parse_tokenizer(Json(), "x"); });
  expect_error(kFormat, {"x: the key \"model\" is missing"},
               [] { parse_tokenizer(json("{}"), "x"); });
  expect_refused(kFormat, "\"model\" must be an object", "model", "[]");
  expect_model_refused(kFormat, "\"vocab\" must be an object", "vocab", "[]");
  expect_model_refused(kFormat, "the id of \"a\"", "vocab", R"({"a": -1})");
  expect_model_refused(kFormat, "the id of \"a\"", "vocab", R"({"a": 2147483647})");
  expect_model_refused(kFormat, "the id of \"a\"", "vocab", R"({"a": 1.5})");
  expect_model_refused(kFormat, "no token for the byte 0", "vocab", R"({"a": 1})");
  expect_model_refused(kFormat, "\"merges\" must be a list", "merges", "{}");
  expect_model_refused(kFormat, "neither a list of two tokens", "merges", R"([["a"]])");
  expect_model_refused(kFormat, "neither a list of two tokens", "merges", R"(["a b c"])");
  expect_model_refused(kFormat, "neither a list of two tokens", "merges", "[1]");
  expect_model_refused(kFormat, "a merge needs the token \"zzzz\"", "merges", R"([["a", "zzzz"]])");
  expect_model_refused(kFormat, "a merge needs the token \"~~\"", "merges", R"(["~ ~"])");
  expect_refused(kFormat, "\"added_tokens\" must be a list", "added_tokens", "{}");
  expect_refused(kFormat, "\"content\" is missing", "added_tokens", R"([{"id": 1}])");
  expect_refused(kFormat, "an added token is empty", "added_tokens",
                 R"([{"id": 1, "content": ""}])");
  expect_refused(kFormat, "the key \"id\" is missing", "added_tokens", R"([{"content": "x"}])");
  expect_refused(kUnsupported, "\"lstrip\"", "added_tokens",
                 R"([{"id": 1, "content": "x", "lstrip": true}])");
}

TEST(TokenizerJson, BytesStandForThemselvesOrMoveUp) {
  EXPECT_EQ(byte_character('a'), U'a');
  EXPECT_EQ(byte_character(0), char32_t{0x100});
  EXPECT_EQ(byte_character(' '), char32_t{0x120});
  EXPECT_EQ(byte_character('\n'), char32_t{0x10a});
  EXPECT_EQ(byte_character(0xad), char32_t{0x143});
  EXPECT_EQ(byte_character(0xff), char32_t{0xff});
}

}  // namespace
}  // namespace pantograph::qwen35_text
