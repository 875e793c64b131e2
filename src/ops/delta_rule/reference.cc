// The gated delta rule token by token: documentation and oracle.
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "ops/delta_rule/delta_rule.h"

namespace pantograph::ops {

void reference_gated_delta_rule(const DeltaRuleHeads& heads, const DeltaRuleTensors& tensors) {
  require_fit(heads, tensors);
  const std::int64_t dk = heads.key_dim, dv = heads.value_dim;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dk));
  parallel_for(heads.value_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t h = begin; h < end; ++h) {
      const std::int64_t key_head = h / (heads.value_heads / heads.key_heads);
      std::vector<float> state(static_cast<std::size_t>(dk * dv), 0);
      for (std::int64_t t = 0; t < tensors.q.rows; ++t) {
        const float* q = tensors.q.f32_row(t) + key_head * dk;
        const float* k = tensors.k.f32_row(t) + key_head * dk;
        const float* v = tensors.v.f32_row(t) + h * dv;
        float* y = tensors.y.f32_row(t) + h * dv;
        const float decay = std::exp(tensors.g.f32_row(t)[h]);
        const float beta = tensors.beta.f32_row(t)[h];
        for (float& s : state) s *= decay;
        for (std::int64_t j = 0; j < dv; ++j) {
          float* column = state.data() + j;
          float known = 0, read = 0;
          for (std::int64_t i = 0; i < dk; ++i) known += column[i * dv] * k[i];
          const float change = beta * (v[j] - known);
          for (std::int64_t i = 0; i < dk; ++i) {
            column[i * dv] += k[i] * change;
            read += column[i * dv] * q[i] * scale;
          }
          y[j] = read;
        }
      }
    }
  });
}

}  // namespace pantograph::ops
