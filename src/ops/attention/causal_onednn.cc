#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/attention/causal.h"
#include "ops/attention/softmax.h"
#include "ops/onednn/product.h"

namespace pantograph::ops {

void causal_attention(const Context& context, std::int64_t heads, std::int64_t kv_heads,
                      const RowsView& q, const RowsView& k, const RowsView& v, const RowsView& y) {
  const std::int64_t tokens = q.rows, d = q.columns / heads;
  require(heads % kv_heads == 0 && q.columns == heads * d && k.columns == kv_heads * d &&
              v.columns == k.columns && y.columns == q.columns && k.rows == tokens &&
              v.rows == tokens && y.rows == tokens,
          "causal_attention: q [", tokens, ", ", q.columns, "] of ", heads, " heads, k [", k.rows,
          ", ", k.columns, "] of ", kv_heads);
  const float scale = 1.0F / std::sqrt(static_cast<float>(d));
  for (std::int64_t begin = 0; begin < tokens; begin += kCausalQueries) {
    const std::int64_t queries = std::min(kCausalQueries, tokens - begin);
    const std::int64_t keys = begin + queries;  // later ones are seen by none of these
    const auto part = [&](const RowsView& x, std::int64_t head, std::int64_t first,
                          std::int64_t count) {
      return x.slice_rows(first, count).slice_columns(head * d, d);
    };
    const RowsView score_rows = RowsView::dense(nullptr, queries, keys);
    const onednn::Product scores(onednn::matrix(part(q, 0, begin, queries)),
                                 onednn::transposed(part(k, 0, 0, keys)),
                                 onednn::matrix(score_rows));
    const onednn::Product mix(onednn::matrix(score_rows), onednn::matrix(part(v, 0, 0, keys)),
                              onednn::matrix(part(y, 0, begin, queries)));
    const OwnedRows weights(*context.arena, DType::kF32, queries, keys);
    const Arena::Block workspace =
        context.arena->take(std::max(scores.workspace_bytes(), mix.workspace_bytes()));
    if (context.planning) continue;
    for (std::int64_t head = 0; head < heads; ++head) {
      context.stop_if_cancelled();
      const std::int64_t kv_head = head / (heads / kv_heads);
      scores.run(part(q, head, begin, queries).f32(), part(k, kv_head, 0, keys).f32(),
                 weights->f32(), workspace.data());
      parallel_for(queries, 4, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          float* const row = weights->f32_row(i);
          const std::int64_t seen = begin + i + 1;
          softmax_row(row, seen, scale);
          std::fill(row + seen, row + keys, 0.0F);
        }
      });
      mix.run(weights->f32(), part(v, kv_head, 0, keys).f32(), part(y, head, begin, queries).f32(),
              workspace.data());
    }
  }
}

}  // namespace pantograph::ops
