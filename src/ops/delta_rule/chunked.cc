// The gated delta rule in chunks of tokens. With G_t the sum of g from a chunk's beginning to t and
// S the state before the chunk, the change that token t writes, u_t = beta_t (v_t - S_t^T k_t),
// obeys
//   u_t = beta_t (v_t - exp(G_t) S^T k_t - sum over s < t of exp(G_t - G_s) (k_t . k_s) u_s),
// which is solved from the first token on; then
//   y_t = exp(G_t) S^T q_t + sum over s <= t of exp(G_t - G_s) (q_t . k_s) u_s,  and after the
//   chunk S = exp(G_last) S + sum over s of k_s exp(G_last - G_s) u_s^T.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/parallel.h"
#include "ops/delta_rule/delta_rule.h"
#include "ops/rms_norm/silu.h"

namespace pantograph::ops {
namespace {

PANTOGRAPH_VECTOR_CLONES
float dot(const float* a, const float* b, std::int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// y += sum over i < terms of factors[i] * rows[i * width ...]
PANTOGRAPH_VECTOR_CLONES
void add_rows(const float* factors, const float* rows, std::int64_t terms, std::int64_t width,
              float* y) {
  for (std::int64_t i = 0; i < terms; ++i) {
    const float factor = factors[i];
    const float* row = rows + i * width;
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) y[j] += factor * row[j];
  }
}

PANTOGRAPH_VECTOR_CLONES
void scale_row(float factor, std::int64_t width, float* y) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) y[j] *= factor;
}

// One value head on one thread.
class Head {
 public:
  Head(const DeltaRuleHeads& heads, const DeltaRuleTensors& tensors, std::int64_t head,
       float* memory)
      : tensors_(tensors),
        head_(head),
        dk_(heads.key_dim),
        dv_(heads.value_dim),
        key_column_(head / (heads.value_heads / heads.key_heads) * dk_),
        state_(memory),
        changes_(memory + dk_ * dv_),
        scale_(1.0F / std::sqrt(static_cast<float>(dk_))) {}

  // Floats that one head works in: the state [dk, dv], and the changes of a chunk [chunk, dv].
  static std::int64_t memory(const DeltaRuleHeads& heads) {
    return (heads.key_dim + kDeltaRuleChunk) * heads.value_dim;
  }

  void run(const Context& context) {
    std::fill(state_, state_ + dk_ * dv_, 0.0F);
    for (std::int64_t begin = 0; begin < tensors_.q.rows; begin += kDeltaRuleChunk) {
      context.stop_if_cancelled();
      chunk(begin, std::min(kDeltaRuleChunk, tensors_.q.rows - begin));
    }
  }

 private:
  using Factors = std::array<float, kDeltaRuleChunk>;

  [[nodiscard]] const float* key(std::int64_t t) const {
    return tensors_.k.f32_row(t) + key_column_;
  }

  void chunk(std::int64_t begin, std::int64_t count) {
    Factors decay{}, factors{};  // decay: G
    float sum = 0;
    for (std::int64_t t = 0; t < count; ++t) {
      sum += tensors_.g.f32_row(begin + t)[head_];
      decay[static_cast<std::size_t>(t)] = sum;
    }
    // exp(G_t - G_s) (x . k_s) for s < terms
    const auto fill_factors = [&](const float* x, std::int64_t t, std::int64_t terms, float scale) {
      for (std::int64_t s = 0; s < terms; ++s) {
        factors[static_cast<std::size_t>(s)] =
            scale * dot(x, key(begin + s), dk_) *
            std::exp(decay[static_cast<std::size_t>(t)] - decay[static_cast<std::size_t>(s)]);
      }
    };
    for (std::int64_t t = 0; t < count; ++t) {
      const float beta = tensors_.beta.f32_row(begin + t)[head_];
      const float* v = tensors_.v.f32_row(begin + t) + head_ * dv_;
      float* u = changes_ + t * dv_;
      // The state's part and the chunk's, then what is missing to v.
      std::fill(u, u + dv_, 0.0F);
      add_rows(key(begin + t), state_, dk_, dv_, u);
      scale_row(std::exp(decay[static_cast<std::size_t>(t)]), dv_, u);
      fill_factors(key(begin + t), t, t, 1);
      add_rows(factors.data(), changes_, t, dv_, u);
      for (std::int64_t j = 0; j < dv_; ++j) u[j] = beta * (v[j] - u[j]);

      const float* q = tensors_.q.f32_row(begin + t) + key_column_;
      float* y = tensors_.y.f32_row(begin + t) + head_ * dv_;
      std::fill(y, y + dv_, 0.0F);
      add_rows(q, state_, dk_, dv_, y);
      scale_row(scale_ * std::exp(decay[static_cast<std::size_t>(t)]), dv_, y);
      fill_factors(q, t, t + 1, scale_);
      add_rows(factors.data(), changes_, t + 1, dv_, y);
    }
    update_state(begin, count, decay);
  }

  void update_state(std::int64_t begin, std::int64_t count, const Factors& decay) {
    const float last = decay[static_cast<std::size_t>(count - 1)];
    Factors remaining{}, factors{};
    for (std::int64_t s = 0; s < count; ++s) {
      remaining[static_cast<std::size_t>(s)] = std::exp(last - decay[static_cast<std::size_t>(s)]);
    }
    for (std::int64_t i = 0; i < dk_; ++i) {
      for (std::int64_t s = 0; s < count; ++s) {
        factors[static_cast<std::size_t>(s)] =
            key(begin + s)[i] * remaining[static_cast<std::size_t>(s)];
      }
      float* const row = state_ + i * dv_;
      scale_row(std::exp(last), dv_, row);
      add_rows(factors.data(), changes_, count, dv_, row);
    }
  }

  const DeltaRuleTensors& tensors_;
  std::int64_t head_, dk_, dv_, key_column_;
  float *state_, *changes_;
  float scale_;
};

}  // namespace

void require_fit(const DeltaRuleHeads& heads, const DeltaRuleTensors& tensors) {
  const auto fits = [&](const RowsView& x, std::int64_t columns) {
    return x.rows == tensors.q.rows && x.columns == columns;
  };
  const std::int64_t keys = heads.key_heads * heads.key_dim;
  const std::int64_t values = heads.value_heads * heads.value_dim;
  require(heads.value_heads % heads.key_heads == 0 && fits(tensors.q, keys) &&
              fits(tensors.k, keys) && fits(tensors.v, values) && fits(tensors.y, values) &&
              fits(tensors.g, heads.value_heads) && fits(tensors.beta, heads.value_heads),
          "gated_delta_rule: the tensors do not fit ", heads.key_heads, " key heads of ",
          heads.key_dim, " and ", heads.value_heads, " value heads of ", heads.value_dim);
}

void gated_delta_rule(const Context& context, const DeltaRuleHeads& heads,
                      const DeltaRuleTensors& tensors) {
  require_fit(heads, tensors);
  const OwnedRows memory(*context.arena, DType::kF32, heads.value_heads, Head::memory(heads));
  if (context.planning) return;
  parallel_for(heads.value_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head) {
      Head(heads, tensors, head, memory->f32_row(head)).run(context);
    }
  });
}

}  // namespace pantograph::ops
