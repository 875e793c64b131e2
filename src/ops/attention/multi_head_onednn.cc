#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/attention/multi_head.h"
#include "ops/attention/softmax.h"
#include "ops/onednn/product.h"

namespace pantograph::ops {
namespace {

using dnnl::memory;

// [heads, rows, columns] inside [rows, heads * columns], or transposed.
memory::desc of_heads(const RowsView& x, std::int64_t heads, std::int64_t rows, std::int64_t d,
                      bool transposed = false) {
  return transposed ? memory::desc(memory::dims{heads, d, rows}, memory::data_type::f32,
                                   memory::dims{d, 1, x.stride})
                    : memory::desc(memory::dims{heads, rows, d}, memory::data_type::f32,
                                   memory::dims{d, x.stride, 1});
}

constexpr std::int64_t kMostQueries = 256;  // their scores are still in a cache when they are mixed

// How much is made at once.
struct Tile {
  std::int64_t heads = 0, queries = 0;
};

Tile choose_tile(std::int64_t heads, std::int64_t tokens) {
  const std::int64_t queries = std::clamp(kMostScores / tokens, kFewestQueries, kMostQueries);
  Tile tile{.heads = 1, .queries = std::min(queries, tokens)};
  tile.heads = std::clamp(kMostScores / (tile.queries * tokens), std::int64_t{1}, heads);
  return tile;
}

// Attention of `tile.heads` heads and `tile.queries` queries over all tokens.
class TileAttention {
 public:
  TileAttention(const Context& context, const Tile& tile, std::int64_t d, const RowsView& q,
                const RowsView& k, const RowsView& v, const RowsView& y)
      : tile_(tile),
        tokens_(k.rows),
        d_(d),
        scores_(of_heads(q, tile.heads, tile.queries, d), of_heads(k, tile.heads, k.rows, d, true),
                score_desc()),
        mix_(score_desc(), of_heads(v, tile.heads, v.rows, d),
             of_heads(y, tile.heads, tile.queries, d)),
        weights_(context.arena->take(static_cast<std::size_t>(tile.heads * tile.queries * k.rows) *
                                     sizeof(float))),
        workspace_(
            context.arena->take(std::max(scores_.workspace_bytes(), mix_.workspace_bytes()))) {}

  // Pointers to the first head and, of q and y, the first query.
  void run(float* q, float* k, float* v, float* y) const {
    auto* s = reinterpret_cast<float*>(weights_.data());
    scores_.run(q, k, s, workspace_.data());
    const float scale = 1.0F / std::sqrt(static_cast<float>(d_));
    parallel_for(tile_.heads * tile_.queries, 4, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) softmax_row(s + i * tokens_, tokens_, scale);
    });
    mix_.run(s, v, y, workspace_.data());
  }

 private:
  [[nodiscard]] memory::desc score_desc() const {
    return {memory::dims{tile_.heads, tile_.queries, tokens_}, memory::data_type::f32,
            memory::format_tag::abc};
  }

  Tile tile_;
  std::int64_t tokens_, d_;
  onednn::Product scores_, mix_;
  Arena::Block weights_, workspace_;
};

}  // namespace

void multi_head_attention(const Context& context, std::int64_t heads, const RowsView& q,
                          const RowsView& k, const RowsView& v, const RowsView& y) {
  const std::int64_t tokens = q.rows, d = q.columns / heads;
  for (const RowsView* other : {&k, &v, &y}) {
    require(other->rows == tokens && other->columns == q.columns && q.columns == heads * d,
            "multi_head_attention: q [", tokens, ", ", q.columns, "] of ", heads, " heads and [",
            other->rows, ", ", other->columns, "]");
  }
  if (tokens == 0) return;
  const Tile largest = choose_tile(heads, tokens);
  // Whole tiles first, then what is left of the heads, of the queries, of both.
  const auto each_part = [](std::int64_t count, std::int64_t step, const auto& body) {
    const std::int64_t whole = count / step * step;
    if (whole > 0) body(0, whole, step);
    if (whole < count) body(whole, count, count - whole);
  };
  each_part(heads, largest.heads,
            [&](std::int64_t head_begin, std::int64_t head_end, std::int64_t head_step) {
              each_part(tokens, largest.queries,
                        [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
                          const TileAttention tile(context, {.heads = head_step, .queries = step},
                                                   d, q, k, v, y);
                          if (context.planning) return;
                          for (std::int64_t head = head_begin; head < head_end; head += head_step) {
                            for (std::int64_t query = begin; query < end; query += step) {
                              context.stop_if_cancelled();
                              const std::int64_t column = head * d;
                              tile.run(q.f32_row(query) + column, k.f32() + column,
                                       v.f32() + column, y.f32_row(query) + column);
                            }
                          }
                        });
            });
}

}  // namespace pantograph::ops
