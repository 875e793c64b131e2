// Chat templates against transformers' rendering of them.
#include "models/qwen35_text/chat_template.h"

#include <gtest/gtest.h>

#include "qwen35_text/cases.h"
#include "support/expect_error.h"

namespace pantograph::qwen35_text {
namespace {

using test::expect_error;
using test::golden_cases;
using test::TempDir;
using test::write_file;

constexpr std::string_view kSystem =
    "You are a helpful assistant. Generate the video with the following instructions.";

TEST(ChatTemplate, RendersAsTransformersDoes) {
  const Json cases = golden_cases();
  ASSERT_GE(cases.find("chats")->array()->size(), 20U);
  for (const Json& chat : *cases.find("chats")->array()) {
    const std::string& name = *chat.find("template")->string();
    const ChatTemplate parsed(*cases.find("templates")->find(name)->string(), name);
    EXPECT_EQ(parsed.render(kSystem, *chat.find("prompt")->string()), *chat.find("text")->string())
        << name;
  }
}

constexpr std::string_view kOneLine =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}";

TEST(ChatTemplate, AFileOfItsOwnWinsOverTheConfigs) {
  const TempDir folder;
  write_file(folder / "tokenizer_config.json",
             Json(Json::Object{{"chat_template", Json(std::string(kOneLine))}}).dump());
  EXPECT_TRUE(ChatTemplate::open(folder.path()).render("s", "u").ends_with("assistant\n"));
  std::string jinja(kOneLine);
  jinja.replace(jinja.find("assistant\\n"), 11, "assistant\\n<think>\\n");
  write_file(folder / "chat_template.jinja", jinja);
  EXPECT_TRUE(ChatTemplate::open(folder.path()).render("s", "u").ends_with("assistant\n<think>\n"));
}

TEST(ChatTemplate, OfSeveralTheDefaultIsTaken) {
  const TempDir folder;
  const Json other(
      Json::Object{{"name", Json(std::string("tool"))}, {"template", Json(std::string())}});
  const Json usual(Json::Object{{"name", Json(std::string("default"))},
                                {"template", Json(std::string(kOneLine))}});
  write_file(folder / "tokenizer_config.json",
             Json(Json::Object{{"chat_template", Json(Json::Array{other, usual})}}).dump());
  EXPECT_EQ(ChatTemplate::open(folder.path()).render("s", "u"),
            "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(ChatTemplate, NoneIsSaid) {
  const TempDir folder;
  expect_error(ErrorKind::kNotFound, {"no chat template", "chat_template.jinja"},
               [&] { ChatTemplate::open(folder.path()); });
  write_file(folder / "tokenizer_config.json", "{}");
  expect_error(ErrorKind::kNotFound, {"no chat template"},
               [&] { ChatTemplate::open(folder.path()); });
}

TEST(ChatTemplate, AnotherStructureIsRefused) {
  const auto refuse = [](std::string_view from, std::string_view to, std::string_view says) {
    std::string jinja(kOneLine);
    jinja.replace(jinja.find(from), from.size(), to);
    expect_error(ErrorKind::kUnsupported, {"a.jinja", "not one of Qwen's", says},
                 [&] { const ChatTemplate refused(jinja, "a.jinja"); });
  };
  refuse("<|im_end|>", "</s>", "<|im_start|>system ... <|im_end|>");
  refuse("message['role'] + '\\n'", "message['role'] + ' '", "<|im_start|>system ... <|im_end|>");
  refuse("message['role']", "'system'", "<|im_start|>user ... <|im_end|>");
  refuse("if add_generation_prompt", "if continue_please", "no \"if add_generation_prompt\"");
  refuse("<|im_start|>assistant", "<bot>", "begins no answer");
  refuse("'<|im_start|>assistant\\n'", "bos_token", "more than text");
  refuse("{{ '<|im_start|>assistant\\n' }}",
         "{{ '<|im_start|>assistant\\n' }}{% if weather %}{{ 'x' }}{% endif %}",
         "depends on more than enable_thinking");
  refuse("{{ '<|im_start|>assistant\\n' }}", "{{ '<|im_start|>assistant\\n' }}!",
         "depends on more than enable_thinking");
  for (std::size_t length = 0; length < kOneLine.size(); length += 7) {
    expect_error(ErrorKind::kUnsupported, {"not one of Qwen's"},
                 [&] { const ChatTemplate refused(kOneLine.substr(0, length), "a.jinja"); });
  }
}

}  // namespace
}  // namespace pantograph::qwen35_text
