// What the tower does to channels besides norms and products, f32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/rows.h"
#include "ops/context.h"

namespace pantograph::qwen35_text {

// cos and sin of position t at the frequencies theta^(-2 i / rotated): [tokens, rotated / 2].
struct RopeTables {
  RopeTables(std::int64_t tokens, std::int64_t rotated, double theta);
  std::int64_t half = 0;  // rotated / 2
  std::vector<float> cosines, sines;
};

// For each head of x [tokens, heads * head_dim]: zero-centred RMSNorm with the weights 1 + w, then
// the first 2 * half channels rotated, channel i with channel i + half. In place.
void norm_and_rotate(const ops::Context& context, std::span<const float> weight, double eps,
                     const RopeTables& rope, const RowsView& x);

// For each head of x, in place: x / sqrt(sum(x^2) + 1e-6).
void l2_norm_heads(const ops::Context& context, std::int64_t head_dim, const RowsView& x);

// For each head of x [tokens, heads * C], C the weight's: x = RMSNorm(x) * weight * silu(gate).
void gated_norm(const ops::Context& context, std::span<const float> weight, double eps,
                const RowsView& gate, const RowsView& x);

// x = x * sigmoid(gate), where the gate of each head of `head_dim` channels follows its query in
// `queries_and_gates` [tokens, heads * 2 * head_dim].
void sigmoid_gate(const ops::Context& context, std::int64_t head_dim,
                  const RowsView& queries_and_gates, const RowsView& x);

// x = silu(x) * y
void silu_multiply(const ops::Context& context, const RowsView& x, const RowsView& y);

// In place: b becomes beta = sigmoid(b), a becomes g = -exp(A_log) * softplus(a + dt_bias).
void decay_gates(const ops::Context& context, std::span<const float> a_log,
                 std::span<const float> dt_bias, const RowsView& b, const RowsView& a);

}  // namespace pantograph::qwen35_text
