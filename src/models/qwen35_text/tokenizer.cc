#include "models/qwen35_text/tokenizer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "checkpoint/mapped_file.h"
#include "core/check.h"
#include "models/qwen35_text/unicode.h"

namespace pantograph::qwen35_text {
namespace {

// The longest added token of the wanted kind that begins at `at`. Longer ones come first.
const AddedToken* added_at(const std::vector<AddedToken>& added, std::string_view text,
                           std::size_t at, bool normalized) {
  for (const AddedToken& token : added) {
    if (token.normalized == normalized && text.substr(at).starts_with(token.content)) {
      return &token;
    }
  }
  return nullptr;
}

// Calls plain(part) and special(id) for the parts of a text, in order.
template <typename Plain, typename Special>
void split_added(const std::vector<AddedToken>& added, std::string_view text, bool normalized,
                 const Plain& plain, const Special& special) {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* token = added_at(added, text, at, normalized);
    if (token == nullptr) {
      ++at;
      continue;
    }
    if (at > done) plain(text.substr(done, at - done));
    special(token->id);
    at += token->content.size();
    done = at;
  }
  if (done < text.size()) plain(text.substr(done));
}

}  // namespace

Tokenizer Tokenizer::open(const std::filesystem::path& folder) {
  const MappedFile file(folder / "tokenizer.json");
  const std::string where = file.path().string();
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  return Tokenizer(parse_tokenizer(parse_json(text, where), where));
}

Tokenizer::Tokenizer(TokenizerSpec spec) : spec_(std::move(spec)) {
  std::stable_sort(
      spec_.added.begin(), spec_.added.end(),
      [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  if (const std::size_t valid = valid_utf8_bytes(text); valid != text.size()) {
    fail(ErrorKind::kInvalidArgument, "the text is not valid UTF-8 at byte ", valid);
  }
  std::vector<std::int32_t> ids;
  const auto special = [&](std::int32_t id) { ids.push_back(id); };
  split_added(
      spec_.added, text, false,
      [&](std::string_view raw) {
        const std::string normal = spec_.nfc ? nfc(raw) : std::string(raw);
        split_added(
            spec_.added, normal, true, [&](std::string_view plain) { encode_plain(plain, ids); },
            special);
      },
      special);
  return ids;
}

void Tokenizer::encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::vector<std::string_view> pieces = {text};
  for (const Regex& split : spec_.splits) {
    std::vector<std::string_view> finer;
    for (const std::string_view piece : pieces) split.split(piece, finer);
    pieces = std::move(finer);
  }
  for (const std::string_view piece : pieces) spec_.pairs.encode(piece, ids);
}

}  // namespace pantograph::qwen35_text
