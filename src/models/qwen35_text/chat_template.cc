#include "models/qwen35_text/chat_template.h"

#include <optional>
#include <system_error>
#include <vector>

#include "checkpoint/json.h"
#include "checkpoint/mapped_file.h"
#include "core/check.h"
#include "models/qwen35_text/unicode.h"

namespace pantograph::qwen35_text {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kContent = "\x01";  // stands for a message's content while comparing

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// {% statement %} or {{ expression }}.
struct Tag {
  bool expression = false;
  std::string_view text;
  // Whether what stands between this tag and the one before it comes out.
  bool prints_before = false;
};

std::vector<Tag> scan(std::string_view jinja) {
  std::vector<Tag> tags;
  std::size_t done = 0;
  bool strips_after = true, statement_before = true;
  for (std::size_t at = jinja.find('{'); at != std::string_view::npos; at = jinja.find('{', at)) {
    const char kind = at + 1 < jinja.size() ? jinja[at + 1] : '\0';
    if (kind != '%' && kind != '{' && kind != '#') {
      ++at;
      continue;
    }
    const std::string_view closing = kind == '%' ? "%}" : kind == '{' ? "}}" : "#}";
    const std::size_t end = jinja.find(closing, at + 2);
    if (end == std::string_view::npos) break;
    std::string_view inner = jinja.substr(at + 2, end - at - 2);
    const bool strips_before = inner.starts_with('-'), strips = inner.ends_with('-');
    if (strips_before) inner.remove_prefix(1);
    if (strips && !inner.empty()) inner.remove_suffix(1);
    // transformers lets a statement take the line break after it and the blanks before it.
    std::string_view between = jinja.substr(done, at - done);
    if (statement_before && between.starts_with('\n')) between.remove_prefix(1);
    const bool blank = between.find_first_not_of(" \t") == std::string_view::npos && kind != '{';
    const bool space = trimmed(between).empty();
    const bool prints = !between.empty() && !blank && !(space && (strips_before || strips_after));
    if (kind != '#') {
      tags.push_back({.expression = kind == '{', .text = trimmed(inner), .prints_before = prints});
    }
    strips_after = strips;
    statement_before = kind != '{';
    done = at = end + 2;
  }
  return tags;
}

// The text of an expression that joins literals, message.role (taken to be `role`) and one content
// (for which kContent stands); nothing where it is more than that. `content` is set to the
// content's own expression.
std::optional<std::string> evaluate(std::string_view expression, std::string_view role,
                                    std::string_view* content = nullptr) {
  std::string result;
  while (!(expression = trimmed(expression)).empty()) {
    std::string_view term;
    if (const char quote = expression.front(); quote == '\'' || quote == '"') {
      std::size_t i = 1;
      for (; i < expression.size() && expression[i] != quote; ++i) {
        const bool line_break = expression.substr(i).starts_with("\\n");
        if (expression[i] == '\\' && !line_break) return std::nullopt;
        result += line_break ? '\n' : expression[i];
        if (line_break) ++i;
      }
      if (i >= expression.size()) return std::nullopt;
      expression.remove_prefix(i + 1);
    } else {
      term = trimmed(expression.substr(0, expression.find('+')));
      if (term == "message.role" || term == "message['role']" || term == "message[\"role\"]") {
        result += role;
      } else {
        if (term.find("content") == std::string_view::npos) return std::nullopt;
        result += kContent;
        if (content != nullptr) *content = term;
      }
      expression.remove_prefix(std::min(expression.size(), expression.find('+')));
    }
    expression = trimmed(expression);
    if (expression.empty()) break;
    if (expression.front() != '+') return std::nullopt;
    expression.remove_prefix(1);
  }
  return result;
}

bool strips(std::string_view expression) {
  const std::size_t bar = expression.rfind('|');
  return bar != std::string_view::npos && trimmed(expression.substr(bar + 1)) == "trim";
}

// Reads the tags of a template and says what is missing in it.
class Reader {
 public:
  Reader(std::vector<Tag> tags, const std::string& where) : tags_(std::move(tags)), where_(where) {}

  // Whether the user's content is stripped.
  [[nodiscard]] bool read_messages() const {
    std::size_t loop = 0;
    while (loop < tags_.size() && tags_[loop].text != "for message in messages") ++loop;
    std::optional<bool> set;
    for (std::size_t i = loop; i < tags_.size(); ++i) {
      const std::string_view text = tags_[i].text;
      if (!set && !tags_[i].expression && text.starts_with("set content =")) set = strips(text);
      std::string_view content;
      if (tags_[i].expression && evaluate(text, "user", &content) ==
                                     join("<|im_start|>user\n", kContent, "<|im_end|>\n")) {
        return strips(content) || (content == "content" && set.value_or(false));
      }
    }
    refuse("writes no message as <|im_start|>user ... <|im_end|>");
  }

  void require_system() const {
    for (const Tag& tag : tags_) {
      if (tag.expression &&
          evaluate(tag.text, "system") == join("<|im_start|>system\n", kContent, "<|im_end|>\n")) {
        return;
      }
    }
    refuse("writes no message as <|im_start|>system ... <|im_end|>");
  }

  // What comes out where enable_thinking is not given.
  [[nodiscard]] std::string read_generation_prompt() const {
    std::size_t at = tags_.size();
    while (at > 0 &&
           (tags_[at - 1].expression || tags_[at - 1].text != "if add_generation_prompt")) {
      --at;
    }
    if (at == 0) refuse("has no \"if add_generation_prompt\"");
    std::string prompt = literals(at);
    if (!prompt.starts_with("<|im_start|>assistant\n")) {
      refuse("begins no answer with <|im_start|>assistant");
    }
    if (!is(at, "endif")) {
      if (at >= tags_.size() || !tags_[at].text.starts_with("if enable_thinking is defined and ")) {
        refuse("has a generation prompt that depends on more than enable_thinking");
      }
      static_cast<void>(literals(++at));
      if (is(at, "else")) prompt += literals(++at);
      if (!is(at, "endif") || !is(++at, "endif")) {
        refuse("has a generation prompt that depends on more than enable_thinking");
      }
    }
    return prompt;
  }

 private:
  [[noreturn]] void refuse(std::string_view problem) const {
    fail(ErrorKind::kUnsupported, where_, ": the chat template is not one of Qwen's: it ", problem);
  }
  [[nodiscard]] bool is(std::size_t at, std::string_view statement) const {
    return at < tags_.size() && !tags_[at].expression && tags_[at].text == statement &&
           !tags_[at].prints_before;
  }
  // The expressions from `at` on, which moves behind them.
  std::string literals(std::size_t& at) const {
    std::string result;
    for (; at < tags_.size() && tags_[at].expression; ++at) {
      const auto text = evaluate(tags_[at].text, "assistant");
      if (!text || text->find(kContent) != std::string::npos || tags_[at].prints_before) {
        refuse("has a generation prompt that is more than text");
      }
      result += *text;
    }
    return result;
  }

  std::vector<Tag> tags_;
  const std::string& where_;
};

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Of several templates, the one named "default".
const std::string* template_text(const Json& value) {
  if (value.string() != nullptr) return value.string();
  if (value.array() == nullptr) return nullptr;
  for (const Json& named : *value.array()) {
    const Json *name = named.find("name"), *text = named.find("template");
    if (name != nullptr && text != nullptr && name->string() != nullptr &&
        *name->string() == "default") {
      return text->string();
    }
  }
  return nullptr;
}

}  // namespace

ChatTemplate ChatTemplate::open(const std::filesystem::path& folder) {
  std::error_code error;
  if (const auto jinja = folder / "chat_template.jinja"; std::filesystem::exists(jinja, error)) {
    return {read_text(jinja), jinja.string()};
  }
  const auto config = folder / "tokenizer_config.json";
  if (std::filesystem::exists(config, error)) {
    const Json json = parse_json(read_text(config), config.string());
    const Json* value = json.find("chat_template");
    const std::string* text = value == nullptr ? nullptr : template_text(*value);
    if (text != nullptr) return {*text, config.string()};
  }
  fail(ErrorKind::kNotFound, folder.string(),
       ": no chat template; expected chat_template.jinja, or \"chat_template\" in "
       "tokenizer_config.json");
}

ChatTemplate::ChatTemplate(std::string_view jinja, const std::string& where) {
  const Reader read(scan(jinja), where);
  read.require_system();
  strips_content_ = read.read_messages();
  generation_prompt_ = read.read_generation_prompt();
}

std::string ChatTemplate::render(std::string_view system, std::string_view user) const {
  const auto content = [this](std::string_view text) {
    return strips_content_ ? strip(text) : text;
  };
  return join("<|im_start|>system\n", content(system), "<|im_end|>\n<|im_start|>user\n",
              content(user), "<|im_end|>\n", generation_prompt_);
}

}  // namespace pantograph::qwen35_text
