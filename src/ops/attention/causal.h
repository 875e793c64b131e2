// Causal attention over tokens: each sees itself and those before it.
// y = softmax(q k^T / sqrt(D)) v for each head; query head h reads key head h / (heads / kv_heads).
#pragma once

#include <cstdint>

#include "core/rows.h"
#include "ops/context.h"

namespace pantograph::ops {

// q and y [tokens, heads * D], k and v [tokens, kv_heads * D], f32, each with a row stride of its
// own; y is none of the others. Scores are made for at most kCausalQueries queries of a head.
inline constexpr std::int64_t kCausalQueries = 256;
void causal_attention(const Context& context, std::int64_t heads, std::int64_t kv_heads,
                      const RowsView& q, const RowsView& k, const RowsView& v, const RowsView& y);

}  // namespace pantograph::ops
