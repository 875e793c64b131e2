#include "models/qwen35_text/byte_pair.h"

#include <queue>
#include <tuple>

namespace pantograph::qwen35_text {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Symbol {
  std::int32_t id = 0;
  std::size_t before = kNone, after = kNone;
  bool merged_away = false;
};

// A pair of neighbours as it was when found; outdated once either has changed.
struct Candidate {
  BytePairs::Merge merge;
  std::size_t left = 0;
  std::uint64_t key = 0;
  // The queue gives the largest first: lowest rank, then leftmost.
  bool operator<(const Candidate& other) const {
    return std::tie(merge.rank, left) > std::tie(other.merge.rank, other.left);
  }
};

}  // namespace

void BytePairs::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  if (!whole.empty()) {
    if (const auto found = whole.find(std::string(piece)); found != whole.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  std::vector<Symbol> symbols(piece.size());
  for (std::size_t i = 0; i < piece.size(); ++i) {
    symbols[i] = {.id = bytes[static_cast<unsigned char>(piece[i])],
                  .before = i == 0 ? kNone : i - 1,
                  .after = i + 1 == piece.size() ? kNone : i + 1};
  }
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::size_t left) {
    if (left == kNone || symbols[left].after == kNone) return;
    const std::uint64_t key = pair_key(symbols[left].id, symbols[symbols[left].after].id);
    if (const auto found = merges.find(key); found != merges.end()) {
      queue.push({found->second, left, key});
    }
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.left];
    if (left.merged_away || left.after == kNone) continue;
    Symbol& right = symbols[left.after];
    if (pair_key(left.id, right.id) != best.key) continue;
    left.id = best.merge.result;
    left.after = right.after;
    right.merged_away = true;
    if (left.after != kNone) symbols[left.after].before = best.left;
    consider(left.before);
    consider(best.left);
  }
  for (const Symbol& symbol : symbols) {
    if (!symbol.merged_away) ids.push_back(symbol.id);
  }
}

}  // namespace pantograph::qwen35_text
