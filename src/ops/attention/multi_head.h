// Multi-head self-attention over tokens, no mask: y = softmax(q k^T / sqrt(D)) v for each head.
#pragma once

#include "core/rows.h"
#include "ops/context.h"

namespace pantograph::ops {

// q, k, v and y are [tokens, heads * D], each with a row stride of its own; y may be none of the
// others. Scores are made for some heads and queries at a time, at most kMostScores of them, or a
// head's for kFewestQueries queries where even those are more.
inline constexpr std::int64_t kMostScores = 1 << 21;
inline constexpr std::int64_t kFewestQueries = 16;
void multi_head_attention(const Context& context, std::int64_t heads, const RowsView& q,
                          const RowsView& k, const RowsView& v, const RowsView& y);

}  // namespace pantograph::ops
