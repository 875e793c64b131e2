// The gated delta rule of linear attention. Each value head h has a state S [key_dim, value_dim],
// zero at first, and reads key head h / (value_heads / key_heads). For each token, in order:
//   S = exp(g) S;  S += k (beta (v - S^T k))^T;  y = S^T q / sqrt(key_dim)
#pragma once

#include <cstdint>

#include "core/rows.h"
#include "ops/context.h"

namespace pantograph::ops {

struct DeltaRuleHeads {
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
};

// All f32, a row a token: q and k [tokens, key_heads * key_dim], v and y [tokens, value_heads *
// value_dim], g (at most 0) and beta [tokens, value_heads]. y is none of the others.
struct DeltaRuleTensors {
  RowsView q, k, v, g, beta, y;
};

// Tokens are taken kDeltaRuleChunk at a time: within a chunk the recurrence is a triangular system.
inline constexpr std::int64_t kDeltaRuleChunk = 64;
void gated_delta_rule(const Context& context, const DeltaRuleHeads& heads,
                      const DeltaRuleTensors& tensors);

// The recurrence as it stands above, token by token.
void reference_gated_delta_rule(const DeltaRuleHeads& heads, const DeltaRuleTensors& tensors);

void require_fit(const DeltaRuleHeads& heads, const DeltaRuleTensors& tensors);

}  // namespace pantograph::ops
