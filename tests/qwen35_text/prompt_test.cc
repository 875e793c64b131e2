#include "models/qwen35_text/prompt.h"

#include <gtest/gtest.h>

#include <algorithm>

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
using test::tokenizer_of;
using test::with;

// Ids are those of transformers' apply_chat_template, but for what is cut.
TEST(Prompt, IsTheChatsTokens) {
  const Tokenizer tokenizer = Tokenizer::open(tokenizer_folder());
  const Json cases = golden_cases();
  std::int64_t cut = 0;
  for (const Json& item : *cases.find("chats")->array()) {
    const std::string& name = *item.find("template")->string();
    const ChatTemplate chat(*cases.find("templates")->find(name)->string(), name);
    const PromptTokens tokens = tokenize_prompt(tokenizer, chat, *item.find("prompt")->string());
    std::vector<std::int32_t> expected = ids_of(item);
    EXPECT_EQ(tokens.ids.size() + static_cast<std::size_t>(tokens.cut), expected.size());
    expected.resize(std::min(expected.size(), tokens.ids.size()));
    EXPECT_EQ(tokens.ids, expected);
    EXPECT_LE(static_cast<std::int64_t>(tokens.ids.size()) - tokens.user_begin, kMostPromptTokens);
    cut = std::max(cut, tokens.cut);
  }
  EXPECT_GT(cut, 1000);  // the last one is too long
}

TEST(Prompt, BeginsBehindTheFirstUserHeader) {
  const TempDir folder;
  make_tokenizer(folder.path());
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  const ChatTemplate chat = ChatTemplate::open(folder.path());
  for (const std::string_view prompt : {"x", "<|im_start|>user\nx"}) {
    const PromptTokens tokens = tokenize_prompt(tokenizer, chat, prompt);
    const std::vector<std::int32_t> rest(tokens.ids.begin() + tokens.user_begin, tokens.ids.end());
    EXPECT_EQ(rest, tokenizer.encode(std::string(prompt) +
                                     "<|im_end|>\n<|im_start|>assistant\n<think>\n"));
    EXPECT_EQ(tokens.cut, 0);
  }
}

TEST(Prompt, TheLongestThatFitsAndOneMore) {
  const TempDir folder;
  make_tokenizer(folder.path());
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  const ChatTemplate chat = ChatTemplate::open(folder.path());
  // An x is a token of its own here.
  const std::size_t tail = tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n<think>\n").size();
  const std::size_t fits = static_cast<std::size_t>(kMostPromptTokens) - tail;
  EXPECT_EQ(tokenize_prompt(tokenizer, chat, std::string(fits, 'x')).cut, 0);
  const PromptTokens longer = tokenize_prompt(tokenizer, chat, std::string(fits + 3, 'x'));
  EXPECT_EQ(longer.cut, 3);
  EXPECT_EQ(static_cast<std::int64_t>(longer.ids.size()) - longer.user_begin, kMostPromptTokens);
  EXPECT_EQ(longer.ids.back(), tokenizer.encode("assistant").back());
}

TEST(Prompt, ATokenizerThatJoinsTheHeaderWithWhatFollowsIsRefused) {
  const TempDir folder;
  make_tokenizer(folder.path());
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  // The user's line break and the prompt's become one piece, which the expression splits otherwise.
  const ChatTemplate chat(
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
      "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
      "{{ '<|im_start|>assistant\\n' }}{% endif %}",
      "a.jinja");
  EXPECT_EQ(tokenize_prompt(tokenizer, chat, "\nx").cut, 0);  // no token of two line breaks here
  const Json json = parse_json(test::read_file(folder / "tokenizer.json"), "tokenizer.json");
  const Json& model = *json.find("model");
  const std::string line_break = "\u010a";
  Json::Array merges = *model.find("merges")->array();
  merges.push_back(Json(line_break + " " + line_break));
  const Json vocabulary =
      with(*model.find("vocab"), line_break + line_break, Json(std::int64_t{999}));
  const Tokenizer joining = tokenizer_of(with(
      json, "model", with(with(model, "vocab", vocabulary), "merges", Json(std::move(merges)))));
  expect_error(ErrorKind::kUnsupported, {"<|im_start|>user", "line break"},
               [&] { tokenize_prompt(joining, chat, "\nx"); });
}

TEST(Prompt, TextThatIsNotUtf8IsRefused) {
  const TempDir folder;
  make_tokenizer(folder.path());
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  const ChatTemplate chat = ChatTemplate::open(folder.path());
  expect_error(ErrorKind::kInvalidArgument, {"the prompt is not valid UTF-8 at byte 2"},
               [&] { tokenize_prompt(tokenizer, chat, "ab\x80"); });
}

}  // namespace
}  // namespace pantograph::qwen35_text
