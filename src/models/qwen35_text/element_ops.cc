#include "models/qwen35_text/element_ops.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/rms_norm/silu.h"

namespace pantograph::qwen35_text {
namespace {

using ops::Context;
using ops::vector_exp;

// Calls body(t) for each row of x, on several threads where there is work for them.
template <typename Body>
void each_token(const Context& context, const RowsView& x, const Body& body) {
  constexpr std::int64_t kLeastElements = 1 << 14;  // for a thread
  if (context.planning) return;
  context.stop_if_cancelled();
  parallel_for(x.rows, kLeastElements / x.columns + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) body(t);
  });
}

PANTOGRAPH_VECTOR_CLONES
float sum_of_squares(const float* x, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += double{x[i]} * double{x[i]};
  return static_cast<float>(sum);
}

PANTOGRAPH_VECTOR_CLONES
void scale_by(float factor, const float* weight, std::int64_t count, float* x) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] *= factor * weight[i];
}

PANTOGRAPH_VECTOR_CLONES
void multiply_silu(const float* gate, std::int64_t count, float* x) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] *= gate[i] / (1.0F + vector_exp(-gate[i]));
}

PANTOGRAPH_VECTOR_CLONES
void multiply_sigmoid(const float* gate, std::int64_t count, float* x) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] /= 1.0F + vector_exp(-gate[i]);
}

PANTOGRAPH_VECTOR_CLONES
void silu_times(const float* y, std::int64_t count, float* x) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] / (1.0F + vector_exp(-x[i])) * y[i];
}

float inverse_rms(const float* x, std::int64_t count, double eps) {
  return static_cast<float>(
      1.0 / std::sqrt(double{sum_of_squares(x, count)} / static_cast<double>(count) + eps));
}

}  // namespace

RopeTables::RopeTables(std::int64_t tokens, std::int64_t rotated, double theta)
    : half(rotated / 2),
      cosines(static_cast<std::size_t>(tokens * half)),
      sines(static_cast<std::size_t>(tokens * half)) {
  for (std::int64_t i = 0; i < half; ++i) {
    // In fp32, as transformers has them.
    const auto frequency = static_cast<float>(
        1.0 / std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(rotated)));
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto angle = static_cast<float>(t) * frequency;
      cosines[static_cast<std::size_t>(t * half + i)] = std::cos(angle);
      sines[static_cast<std::size_t>(t * half + i)] = std::sin(angle);
    }
  }
}

void norm_and_rotate(const Context& context, std::span<const float> weight, double eps,
                     const RopeTables& rope, const RowsView& x) {
  const auto head_dim = static_cast<std::int64_t>(weight.size());
  each_token(context, x, [&](std::int64_t t) {
    const float* cosines = rope.cosines.data() + t * rope.half;
    const float* sines = rope.sines.data() + t * rope.half;
    float* const row = x.f32_row(t);
    for (float* head = row; head < row + x.columns; head += head_dim) {
      scale_by(inverse_rms(head, head_dim, eps), weight.data(), head_dim, head);
      for (std::int64_t i = 0; i < rope.half; ++i) {
        const float first = head[i], second = head[i + rope.half];
        head[i] = first * cosines[i] - second * sines[i];
        head[i + rope.half] = second * cosines[i] + first * sines[i];
      }
    }
  });
}

void l2_norm_heads(const Context& context, std::int64_t head_dim, const RowsView& x) {
  constexpr float kEps = 1e-6F;
  each_token(context, x, [&](std::int64_t t) {
    float* const row = x.f32_row(t);
    for (float* head = row; head < row + x.columns; head += head_dim) {
      const float factor = 1.0F / std::sqrt(sum_of_squares(head, head_dim) + kEps);
      for (std::int64_t i = 0; i < head_dim; ++i) head[i] *= factor;
    }
  });
}

void gated_norm(const Context& context, std::span<const float> weight, double eps,
                const RowsView& gate, const RowsView& x) {
  const auto width = static_cast<std::int64_t>(weight.size());
  each_token(context, x, [&](std::int64_t t) {
    for (std::int64_t c = 0; c < x.columns; c += width) {
      float* const head = x.f32_row(t) + c;
      scale_by(inverse_rms(head, width, eps), weight.data(), width, head);
      multiply_silu(gate.f32_row(t) + c, width, head);
    }
  });
}

void sigmoid_gate(const Context& context, std::int64_t head_dim, const RowsView& queries_and_gates,
                  const RowsView& x) {
  each_token(context, x, [&](std::int64_t t) {
    for (std::int64_t c = 0; c < x.columns; c += head_dim) {
      multiply_sigmoid(queries_and_gates.f32_row(t) + 2 * c + head_dim, head_dim, x.f32_row(t) + c);
    }
  });
}

void silu_multiply(const Context& context, const RowsView& x, const RowsView& y) {
  each_token(context, x,
             [&](std::int64_t t) { silu_times(y.f32_row(t), x.columns, x.f32_row(t)); });
}

void decay_gates(const Context& context, std::span<const float> a_log,
                 std::span<const float> dt_bias, const RowsView& b, const RowsView& a) {
  each_token(context, a, [&](std::int64_t t) {
    for (std::int64_t h = 0; h < a.columns; ++h) {
      const auto i = static_cast<std::size_t>(h);
      float& decay = a.f32_row(t)[h];
      float& beta = b.f32_row(t)[h];
      const float x = decay + dt_bias[i];
      // log(1 + e^x) without overflow
      const float softplus = std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x)));
      decay = -std::exp(a_log[i]) * softplus;
      beta = 1.0F / (1.0F + std::exp(-beta));
    }
  });
}

}  // namespace pantograph::qwen35_text
