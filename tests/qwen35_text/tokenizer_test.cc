// The tokenizer against tokenizers' ids.
#include "models/qwen35_text/tokenizer.h"

#include <gtest/gtest.h>

#include "models/qwen35_text/synthetic_tokenizer.h"
#include "qwen35_text/cases.h"
#include "support/expect_error.h"

namespace pantograph::qwen35_text {
namespace {

using test::expect_error;
using test::golden_cases;
using test::ids_of;
using test::TempDir;
using test::tokenizer_folder;
using test::tokenizer_json;
using test::tokenizer_of;
using test::with;

void expect_ids(const Tokenizer& tokenizer, const Json& cases) {
  ASSERT_GT(cases.array()->size(), 40U);
  for (const Json& item : *cases.array()) {
    const std::string& text = *item.find("text")->string();
    EXPECT_EQ(tokenizer.encode(text), ids_of(item)) << Json(text).dump();
  }
}

TEST(Tokenizer, GivesTheIdsOfTokenizers) {
  const Json cases = golden_cases();
  expect_ids(Tokenizer::open(tokenizer_folder()), *cases.find("texts"));
}

TEST(Tokenizer, FilesThatSayOtherwiseAreFollowed) {
  const Json cases = golden_cases();
  for (const Json& variant : *cases.find("variants")->array()) {
    SCOPED_TRACE(*variant.find("name")->string());
    Json json = tokenizer_json();
    for (const char* key : {"normalizer", "pre_tokenizer"}) {
      if (variant.find(key) != nullptr) json = with(json, key, *variant.find(key));
    }
    if (const Json* ignore = variant.find("ignore_merges")) {
      Json::Array merges = *json.find("model")->find("merges")->array();
      merges.resize(merges.size() -
                    static_cast<std::size_t>(*variant.find("dropped_merges")->integer()));
      const Json model = with(*json.find("model"), "ignore_merges", *ignore);
      json = with(json, "model", with(model, "merges", Json(std::move(merges))));
    }
    expect_ids(tokenizer_of(json), *variant.find("cases"));
  }
}

TEST(Tokenizer, MergesAsLinesAreTheSame) {
  const Json json = tokenizer_json();
  Json::Array lines;
  for (const Json& merge : *json.find("model")->find("merges")->array()) {
    const Json::Array& pair = *merge.array();
    lines.push_back(Json(*pair[0].string() + " " + *pair[1].string()));
  }
  const Json model = with(*json.find("model"), "merges", Json(std::move(lines)));
  const Json cases = golden_cases();
  expect_ids(tokenizer_of(with(json, "model", model)), *cases.find("texts"));
}

TEST(Tokenizer, TextThatIsNotUtf8IsRefused) {
  const Tokenizer tokenizer = Tokenizer::open(tokenizer_folder());
  for (const std::string_view text : {"abc\xff", "abc\xc3", "abc\xed\xa0\x80", "abc\xc0\x80"}) {
    expect_error(ErrorKind::kInvalidArgument, {"not valid UTF-8 at byte 3"},
                 [&] { static_cast<void>(tokenizer.encode(text)); });
  }
}

TEST(Tokenizer, ALongWordTakesNoQuadraticTime) {
  const Tokenizer tokenizer = Tokenizer::open(tokenizer_folder());
  const std::vector<std::int32_t> ids = tokenizer.encode(std::string(1 << 20, 'a'));
  const std::vector<std::int32_t> few = tokenizer.encode(std::string(1 << 10, 'a'));
  EXPECT_EQ(ids.size(), few.size() << 10);
}

TEST(Tokenizer, NoTokenizerIsSaid) {
  const TempDir empty;
  expect_error(ErrorKind::kNotFound, {"tokenizer.json"}, [&] { Tokenizer::open(empty.path()); });
}

TEST(SyntheticTokenizer, IsOneThatOpens) {
  const TempDir folder;
  const std::int32_t vocabulary = make_tokenizer(folder.path());
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.vocabulary(), vocabulary);
  EXPECT_EQ(vocabulary, 256 + 12 + 5);
  // 256 bytes, then the merges in their order (the: h e, " t", " the"), then the special tokens.
  EXPECT_EQ(tokenizer.encode(" the<|im_end|>A"), (std::vector<std::int32_t>{259, 270, 65}));
}

}  // namespace
}  // namespace pantograph::qwen35_text
