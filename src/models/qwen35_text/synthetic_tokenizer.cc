#include "models/qwen35_text/synthetic_tokenizer.h"

#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "checkpoint/json.h"
#include "checkpoint/synthetic_writer.h"
#include "core/check.h"
#include "models/qwen35_text/tokenizer_json.h"
#include "models/qwen35_text/unicode.h"

namespace pantograph::qwen35_text {
namespace {

// How Qwen3.5 splits text before pairing bytes.
constexpr std::string_view kPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kChatTemplate =
    R"({%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content|trim + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- set content = message.content|trim %}
    {%- if message.role != 'system' %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- else %}
        {{- '<think>\n' }}
    {%- endif %}
{%- endif %})";

// Each made of two tokens before it; U+0120 is the space.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kMerges = {{{"h", "e"},
                                                                                    {"i", "n"},
                                                                                    {"Ġ", "t"},
                                                                                    {"Ġt", "he"},
                                                                                    {"Ġ", "a"},
                                                                                    {"in", "g"},
                                                                                    {"a", "n"},
                                                                                    {"o", "n"},
                                                                                    {"e", "r"},
                                                                                    {"s", "t"},
                                                                                    {"Ġa", "n"},
                                                                                    {"Ġan", "d"}}};

constexpr std::array<std::string_view, 5> kSpecial = {"<|endoftext|>", "<|im_start|>", "<|im_end|>",
                                                      "<think>", "</think>"};

Json text(std::string_view value) {
  return Json(std::string(value));
}

Json added_token(std::string_view content, std::int64_t id) {
  return Json(Json::Object{{"id", Json(id)},
                           {"content", text(content)},
                           {"single_word", Json(false)},
                           {"lstrip", Json(false)},
                           {"rstrip", Json(false)},
                           {"normalized", Json(false)},
                           {"special", Json(!content.ends_with("think>"))}});
}

Json byte_level(bool use_regex) {
  return Json(Json::Object{{"type", text("ByteLevel")},
                           {"add_prefix_space", Json(false)},
                           {"trim_offsets", Json(false)},
                           {"use_regex", Json(use_regex)}});
}

Json pre_tokenizer() {
  Json split(Json::Object{{"type", text("Split")},
                          {"pattern", Json(Json::Object{{"Regex", text(kPattern)}})},
                          {"behavior", text("Isolated")},
                          {"invert", Json(false)}});
  return Json(
      Json::Object{{"type", text("Sequence")},
                   {"pretokenizers", Json(Json::Array{std::move(split), byte_level(false)})}});
}

}  // namespace

Json synthetic_tokenizer_json() {
  Json::Object vocabulary;
  const auto add = [&](std::string token) {
    vocabulary.emplace_back(std::move(token), Json(static_cast<std::int64_t>(vocabulary.size())));
  };
  for (int byte = 0; byte < 256; ++byte) {
    add(utf8(byte_character(static_cast<unsigned char>(byte))));
  }
  Json::Array merges;
  for (const auto& [left, right] : kMerges) {
    add(join(left, right));
    merges.push_back(Json(Json::Array{text(left), text(right)}));
  }
  auto next = static_cast<std::int64_t>(vocabulary.size());
  Json::Array added;
  for (const std::string_view content : kSpecial) added.push_back(added_token(content, next++));

  return Json(Json::Object{{"version", text("1.0")},
                           {"truncation", Json()},
                           {"padding", Json()},
                           {"added_tokens", Json(std::move(added))},
                           {"normalizer", Json(Json::Object{{"type", text("NFC")}})},
                           {"pre_tokenizer", pre_tokenizer()},
                           {"post_processor", byte_level(false)},
                           {"decoder", byte_level(false)},
                           {"model", Json(Json::Object{{"type", text("BPE")},
                                                       {"dropout", Json()},
                                                       {"unk_token", Json()},
                                                       {"continuing_subword_prefix", text("")},
                                                       {"end_of_word_suffix", text("")},
                                                       {"fuse_unk", Json(false)},
                                                       {"byte_fallback", Json(false)},
                                                       {"ignore_merges", Json(false)},
                                                       {"vocab", Json(std::move(vocabulary))},
                                                       {"merges", Json(std::move(merges))}})}});
}

std::int32_t make_tokenizer(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::kIo, folder.string(), ": cannot make the folder: ", error.message());

  const Json tokenizer = synthetic_tokenizer_json();
  const Json config(Json::Object{{"tokenizer_class", text("Qwen2Tokenizer")},
                                 {"eos_token", text("<|im_end|>")},
                                 {"pad_token", text("<|endoftext|>")},
                                 {"chat_template", text(kChatTemplate)}});
  write_json(folder / "tokenizer.json", tokenizer);
  write_json(folder / "tokenizer_config.json", config);
  return parse_tokenizer(tokenizer, "tokenizer.json").vocabulary;
}

}  // namespace pantograph::qwen35_text
