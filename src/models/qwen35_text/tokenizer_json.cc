#include "models/qwen35_text/tokenizer_json.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "models/qwen35_text/unicode.h"

namespace pantograph::qwen35_text {
namespace {

// What ByteLevel splits by where "use_regex" is true.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

using Vocabulary = std::unordered_map<std::string, std::int32_t>;

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  template <typename... Parts>
  [[noreturn]] void refuse(ErrorKind kind, Parts&&... parts) const {
    fail(kind, where_, ": ", std::forward<Parts>(parts)...);
  }

  [[nodiscard]] const Json& member(const Json& json, std::string_view key) const {
    const Json* value = json.find(key);
    if (value == nullptr) refuse(ErrorKind::kFormat, "the key \"", key, "\" is missing");
    return *value;
  }
  [[nodiscard]] const std::string& text(const Json& json, std::string_view key) const {
    const std::string* value = member(json, key).string();
    if (value == nullptr) refuse(ErrorKind::kFormat, "\"", key, "\" must be a string");
    return *value;
  }
  [[nodiscard]] const Json::Array& array(const Json& json, std::string_view key) const {
    const Json::Array* value = member(json, key).array();
    if (value == nullptr) refuse(ErrorKind::kFormat, "\"", key, "\" must be a list");
    return *value;
  }
  [[nodiscard]] bool flag(const Json& json, std::string_view key, bool otherwise) const {
    const Json* value = json.find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    if (value->boolean() == nullptr) {
      refuse(ErrorKind::kFormat, "\"", key, "\" must be true or false");
    }
    return *value->boolean();
  }
  [[nodiscard]] std::int32_t id(const Json& value, std::string_view of) const {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1;
    if (value.integer() == nullptr || *value.integer() < 0 || *value.integer() > kMost) {
      refuse(ErrorKind::kFormat, "the id of ", Json(std::string(of)).dump(),
             " must be a whole number from 0 to ", kMost);
    }
    return static_cast<std::int32_t>(*value.integer());
  }
  // `parts` of a "Sequence", or the one thing that is none; nothing for null.
  [[nodiscard]] std::vector<const Json*> sequence(const Json& json, std::string_view key,
                                                  std::string_view parts) const {
    const Json* value = json.find(key);
    if (value == nullptr || value->is_null()) return {};
    if (text(*value, "type") != "Sequence") return {value};
    std::vector<const Json*> result;
    for (const Json& part : array(*value, parts)) result.push_back(&part);
    return result;
  }

 private:
  const std::string& where_;
};

bool read_nfc(const Json& json, const Reader& read) {
  bool nfc = false;
  for (const Json* part : read.sequence(json, "normalizer", "normalizers")) {
    const std::string& type = read.text(*part, "type");
    if (type != "NFC") {
      read.refuse(ErrorKind::kUnsupported, "the normalizer \"", type,
                  "\" is not supported, only NFC is");
    }
    nfc = true;
  }
  return nfc;
}

std::vector<Regex> read_splits(const Json& json, const Reader& read, const std::string& where) {
  std::vector<Regex> splits;
  bool byte_level = false;
  for (const Json* part : read.sequence(json, "pre_tokenizer", "pretokenizers")) {
    const std::string& type = read.text(*part, "type");
    if (byte_level || (type != "Split" && type != "ByteLevel")) {
      read.refuse(ErrorKind::kUnsupported, "the pre-tokenizer \"", type,
                  "\" is not supported here, only Splits and then ByteLevel are");
    }
    if (type == "ByteLevel") {
      if (read.flag(*part, "add_prefix_space", true)) {
        read.refuse(ErrorKind::kUnsupported,
                    "ByteLevel with \"add_prefix_space\" is not supported");
      }
      if (read.flag(*part, "use_regex", true)) splits.emplace_back(kByteLevelPattern, where);
      byte_level = true;
      continue;
    }
    if (read.text(*part, "behavior") != "Isolated" || read.flag(*part, "invert", false)) {
      read.refuse(ErrorKind::kUnsupported, "a Split with the behavior ",
                  read.member(*part, "behavior").dump(),
                  " or \"invert\" is not supported, only Isolated is");
    }
    const Json& pattern = read.member(*part, "pattern");
    if (pattern.find("Regex") == nullptr) {
      read.refuse(ErrorKind::kUnsupported, "a Split without a \"Regex\" is not supported");
    }
    splits.emplace_back(read.text(pattern, "Regex"), where);
  }
  if (!byte_level) {
    read.refuse(ErrorKind::kUnsupported,
                "this is no byte-level tokenizer: its pre-tokenizer has no ByteLevel");
  }
  return splits;
}

void refuse_other_models(const Json& model, const Reader& read) {
  const Json* type = model.find("type");  // old files leave it out
  if (type != nullptr && (type->string() == nullptr || *type->string() != "BPE")) {
    read.refuse(ErrorKind::kUnsupported, "the tokenizer model ", type->dump(),
                " is not supported, only BPE is");
  }
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json* value = model.find(key);
    if (value != nullptr && !value->is_null() &&
        (value->string() == nullptr || !value->string()->empty())) {
      read.refuse(ErrorKind::kUnsupported, "\"", key, "\" is not supported");
    }
  }
  double dropout = 0;
  const Json* value = model.find("dropout");
  if (value != nullptr && !value->is_null() && (!value->number(dropout) || dropout != 0)) {
    read.refuse(ErrorKind::kUnsupported, "\"dropout\" is not supported");
  }
  if (read.flag(model, "byte_fallback", false)) {
    read.refuse(ErrorKind::kUnsupported, "\"byte_fallback\" is not supported");
  }
}

// A merge is ["a", "b"] or "a b".
std::pair<std::string, std::string> read_merge(const Json& merge, const Reader& read) {
  if (const Json::Array* pair = merge.array()) {
    if (pair->size() == 2 && (*pair)[0].string() != nullptr && (*pair)[1].string() != nullptr) {
      return {*(*pair)[0].string(), *(*pair)[1].string()};
    }
  } else if (const std::string* line = merge.string()) {
    const std::size_t space = line->find(' ');
    if (space != std::string::npos && line->find(' ', space + 1) == std::string::npos) {
      return {line->substr(0, space), line->substr(space + 1)};
    }
  }
  read.refuse(ErrorKind::kFormat, "the merge ", merge.dump(),
              " is neither a list of two tokens nor two tokens with a space between");
}

void read_merges(const Json& model, const Vocabulary& vocabulary, const Reader& read,
                 BytePairs& pairs) {
  const Json::Array& merges = read.array(model, "merges");
  const auto id = [&](const std::string& token) {
    const auto found = vocabulary.find(token);
    if (found == vocabulary.end()) {
      read.refuse(ErrorKind::kFormat, "a merge needs the token ", Json(token).dump(),
                  ", which the vocabulary lacks");
    }
    return found->second;
  };
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = read_merge(merges[rank], read);
    const std::int32_t left_id = id(left), right_id = id(right);
    pairs.merges[BytePairs::pair_key(left_id, right_id)] = {.rank = static_cast<std::int32_t>(rank),
                                                            .result = id(left + right)};
  }
}

// The bytes that a token of the vocabulary stands for; nothing where it is not of bytes.
std::optional<std::string> token_bytes(const std::string& token,
                                       const std::map<char32_t, char>& byte_of) {
  if (valid_utf8_bytes(token) != token.size()) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const auto found = byte_of.find(next_character(token, at));
    if (found == byte_of.end()) return std::nullopt;
    bytes += found->second;
  }
  return bytes;
}

BytePairs read_pairs(const Json& model, const Vocabulary& vocabulary, const Reader& read) {
  BytePairs pairs;
  std::map<char32_t, char> byte_of;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t character = byte_character(static_cast<unsigned char>(byte));
    byte_of[character] = static_cast<char>(byte);
    const auto found = vocabulary.find(utf8(character));
    if (found == vocabulary.end()) {
      read.refuse(ErrorKind::kFormat, "the vocabulary has no token for the byte ", byte);
    }
    pairs.bytes[static_cast<std::size_t>(byte)] = found->second;
  }
  read_merges(model, vocabulary, read, pairs);
  if (read.flag(model, "ignore_merges", false)) {
    for (const auto& [token, id] : vocabulary) {
      if (auto bytes = token_bytes(token, byte_of)) pairs.whole.emplace(std::move(*bytes), id);
    }
  }
  return pairs;
}

std::vector<AddedToken> read_added(const Json& json, bool nfc_first, const Reader& read) {
  std::vector<AddedToken> added;
  const Json* tokens = json.find("added_tokens");
  if (tokens == nullptr || tokens->is_null()) return added;
  for (const Json& token : read.array(json, "added_tokens")) {
    std::string content = read.text(token, "content");
    for (const std::string_view key : {"single_word", "lstrip", "rstrip"}) {
      if (read.flag(token, key, false)) {
        read.refuse(ErrorKind::kUnsupported, "the added token ", Json(content).dump(), " has \"",
                    key, "\", which is not supported");
      }
    }
    if (content.empty() || valid_utf8_bytes(content) != content.size()) {
      read.refuse(ErrorKind::kFormat, "an added token is empty or not UTF-8");
    }
    const bool normalized = read.flag(token, "normalized", !read.flag(token, "special", false));
    if (normalized && nfc_first) content = nfc(content);
    const std::int32_t id = read.id(read.member(token, "id"), content);
    added.push_back({.content = std::move(content), .id = id, .normalized = normalized});
  }
  return added;
}

}  // namespace

char32_t byte_character(unsigned char byte) {
  const auto printable = [](int b) {
    return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
  };
  if (printable(byte)) return byte;
  char32_t next = 256;
  for (int b = 0; b < byte; ++b) next += printable(b) ? 0 : 1;
  return next;
}

TokenizerSpec parse_tokenizer(const Json& json, const std::string& where) {
  const Reader read(where);
  if (json.object() == nullptr) read.refuse(ErrorKind::kFormat, "expected a JSON object");
  TokenizerSpec spec;
  spec.nfc = read_nfc(json, read);
  const Json& model = read.member(json, "model");
  if (model.object() == nullptr) read.refuse(ErrorKind::kFormat, "\"model\" must be an object");
  refuse_other_models(model, read);
  spec.splits = read_splits(json, read, where);
  for (const Json* part : read.sequence(json, "post_processor", "processors")) {
    const std::string& type = read.text(*part, "type");
    if (type != "ByteLevel") {
      read.refuse(ErrorKind::kUnsupported, "the post-processor \"", type, "\" is not supported");
    }
  }
  const Json& tokens = read.member(model, "vocab");
  if (tokens.object() == nullptr) read.refuse(ErrorKind::kFormat, "\"vocab\" must be an object");
  Vocabulary vocabulary;
  for (const auto& [token, value] : *tokens.object()) {
    const std::int32_t id = read.id(value, token);
    vocabulary.emplace(token, id);
    spec.vocabulary = std::max(spec.vocabulary, id + 1);
  }
  spec.pairs = read_pairs(model, vocabulary, read);
  spec.added = read_added(json, spec.nfc, read);
  for (const AddedToken& token : spec.added) {
    spec.vocabulary = std::max(spec.vocabulary, token.id + 1);
  }
  return spec;
}

}  // namespace pantograph::qwen35_text
