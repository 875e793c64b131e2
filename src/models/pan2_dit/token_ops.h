// The fused token ops on rows of one clip.
#pragma once

#include <span>

#include "core/rows.h"
#include "ops/context.h"

namespace pantograph::pan2_dit {

// shift, 1 + scale and gate [C] of one half of a block.
struct Modulation {
  const float* shift = nullptr;
  const float* scale = nullptr;
  const float* gate = nullptr;
};

// cos and sin [tokens, head_dim / 2]; nullptr: no rotation.
struct RopeTables {
  const float* cos = nullptr;
  const float* sin = nullptr;
};

struct HeadNorm {
  std::span<const float> q_weight, k_weight;  // [head_dim]
  double eps = 0;
};

// RMSNorm of each head of q and k, then the rotation. q and k are views of any stride, q_out and
// k_out are dense.
void norm_rope(const ops::Context& context, std::int64_t heads, const HeadNorm& norm,
               const RopeTables& rope, const RowsView& q, const RowsView& k, const RowsView& q_out,
               const RowsView& k_out);

// out = layer_norm(x) * scale + shift
void norm_modulate(const ops::Context& context, const RowsView& x, const Modulation& modulation,
                   const RowsView& out);
// x += y * gate of `before`, then as above with `after`.
void residual_norm_modulate(const ops::Context& context, const RowsView& x, const RowsView& y,
                            const Modulation& before, const Modulation& after, const RowsView& out);
// x += y * gate
void gated_residual(const ops::Context& context, const RowsView& x, const RowsView& y,
                    const Modulation& modulation);

// out = value * silu(gate) of rows [value | gate]
void gated_silu(const ops::Context& context, const RowsView& value_gate, const RowsView& out);
// x <- GELU(x), its tanh form; x is dense.
void gelu(const ops::Context& context, const RowsView& x);

}  // namespace pantograph::pan2_dit
