#include "models/pan2_dit/token_ops.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/rms_norm/silu.h"
#include "ops/token_ops/token_ops.h"

namespace pantograph::pan2_dit {
namespace {

constexpr double kLayerNormEps = 1e-6;

// The CPU's token ops are plain loops over rows: here they get a thread for each part of the rows.
template <typename Body>
void for_parts(const ops::Context& context, std::int64_t rows, const Body& body) {
  if (context.planning) return;
  parallel_for(rows, 4, [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
}

ops::Target target(const ops::Context& context) {
  return {.device = context.device, .stream = context.stream};
}

Rows strided(const RowsView& x) {
  return {.data = x.data, .strides = {.batch = 0, .token = x.stride}};
}

TokenShape shape(const RowsView& x) {
  return {.batch = 1, .tokens = x.rows, .channels = x.columns};
}

void norm(const ops::Context& context, const RowsView& x, const RowsView* y, const float* gate,
          const Modulation& modulation, const RowsView& out) {
  for_parts(context, x.rows, [&](std::int64_t begin, std::int64_t count) {
    const RowsView part = x.slice_rows(begin, count);
    LayerNormModulate problem{.dtype = DType::kF32, .shape = shape(part), .eps = kLayerNormEps};
    problem.x = strided(part);
    if (y != nullptr) {
      problem.y = strided(y->slice_rows(begin, count));
      problem.gate = {.data = gate};
      problem.sum = part.data;
    }
    problem.scale = {.data = modulation.scale};
    problem.shift = {.data = modulation.shift};
    problem.out = out.f32_row(begin);
    ops::layer_norm_modulate(problem, target(context));
  });
}

}  // namespace

void norm_rope(const ops::Context& context, std::int64_t heads, const HeadNorm& norm,
               const RopeTables& rope, const RowsView& q, const RowsView& k, const RowsView& q_out,
               const RowsView& k_out) {
  const std::int64_t d = q.columns / heads;
  for_parts(context, q.rows, [&](std::int64_t begin, std::int64_t count) {
    const auto tensor = [&](const RowsView& x, std::span<const float> weight, const RowsView& out) {
      return QkRmsNormRope::Tensor{.x = x.f32_row(begin),
                                   .strides = {.batch = 0, .token = x.stride, .head = d},
                                   .weight = weight.data(),
                                   .out = out.f32_row(begin)};
    };
    QkRmsNormRope problem{.dtype = DType::kF32,
                          .batch = 1,
                          .tokens = count,
                          .heads = heads,
                          .head_dim = d,
                          .eps = norm.eps};
    problem.q = tensor(q, norm.q_weight, q_out);
    problem.k = tensor(k, norm.k_weight, k_out);
    if (rope.cos != nullptr) {
      problem.cos = rope.cos + begin * d / 2;
      problem.sin = rope.sin + begin * d / 2;
    }
    ops::qk_rmsnorm_rope(problem, target(context));
  });
}

void norm_modulate(const ops::Context& context, const RowsView& x, const Modulation& modulation,
                   const RowsView& out) {
  norm(context, x, nullptr, nullptr, modulation, out);
}

void residual_norm_modulate(const ops::Context& context, const RowsView& x, const RowsView& y,
                            const Modulation& before, const Modulation& after,
                            const RowsView& out) {
  norm(context, x, &y, before.gate, after, out);
}

void gated_residual(const ops::Context& context, const RowsView& x, const RowsView& y,
                    const Modulation& modulation) {
  for_parts(context, x.rows, [&](std::int64_t begin, std::int64_t count) {
    const RowsView part = x.slice_rows(begin, count);
    ops::gated_residual({.dtype = DType::kF32,
                         .shape = shape(part),
                         .x = strided(part),
                         .y = strided(y.slice_rows(begin, count)),
                         .gate = {.data = modulation.gate},
                         .out = part.data},
                        target(context));
  });
}

void gated_silu(const ops::Context& context, const RowsView& value_gate, const RowsView& out) {
  for_parts(context, out.rows, [&](std::int64_t begin, std::int64_t count) {
    const RowsView part = value_gate.slice_rows(begin, count);
    ops::swiglu({.dtype = DType::kF32,
                 .shape = {.batch = 1, .tokens = count, .channels = out.columns},
                 .value = strided(part),
                 .gate = strided(part.slice_columns(out.columns, out.columns)),
                 .out = out.f32_row(begin)},
                target(context));
  });
}

void gelu(const ops::Context& context, const RowsView& x) {
  if (context.planning) return;
  parallel_for(x.rows, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) ops::gelu_tanh_row(x.f32_row(row), x.columns);
  });
}

}  // namespace pantograph::pan2_dit
