#include "models/qwen35_text/layers.h"

#include <algorithm>
#include <utility>

#include "ops/attention/causal.h"
#include "ops/row_norm/row_norm.h"

namespace pantograph::qwen35_text {
namespace {

using ops::Context;
using ops::linear;
using ops::LinearWeights;
using ops::Store;

class FullAttention final : public Mixer {
 public:
  FullAttention(const Source& source, const std::string& name, const TextConfig& config)
      : heads_(config.heads),
        kv_heads_(config.kv_heads),
        head_dim_(config.head_dim),
        eps_(config.norm_eps),
        qkv_(source.linear({name + ".q_proj", name + ".k_proj", name + ".v_proj"},
                           config.attention_bias)),
        out_(source.linear({name + ".o_proj"}, config.attention_bias)),
        q_norm_(source.zero_centred(name + ".q_norm.weight")),
        k_norm_(source.zero_centred(name + ".k_norm.weight")) {}

  void add(const Context& context, const RopeTables& rope, const RowsView& normed,
           const RowsView& x) const override {
    const std::int64_t inner = heads_ * head_dim_, kv = kv_heads_ * head_dim_;
    const OwnedRows qkv(*context.arena, DType::kF32, x.rows, qkv_.out());
    linear(context, qkv_, normed, qkv.view());
    const RowsView queries_and_gates = qkv->slice_columns(0, 2 * inner);
    const RowsView k = qkv->slice_columns(2 * inner, kv);
    const RowsView v = qkv->slice_columns(2 * inner + kv, kv);
    const OwnedRows q(*context.arena, DType::kF32, x.rows, inner);
    if (!context.planning) copy_queries(queries_and_gates, q.view());
    norm_and_rotate(context, q_norm_, eps_, rope, q.view());
    norm_and_rotate(context, k_norm_, eps_, rope, k);
    const OwnedRows y(*context.arena, DType::kF32, x.rows, inner);
    ops::causal_attention(context, heads_, kv_heads_, q.view(), k, v, y.view());
    sigmoid_gate(context, head_dim_, queries_and_gates, y.view());
    linear(context, out_, y.view(), x, Store::kAdd);
  }

 private:
  // Out of each head's [query | gate].
  void copy_queries(const RowsView& queries_and_gates, const RowsView& q) const {
    for (std::int64_t t = 0; t < q.rows; ++t) {
      for (std::int64_t c = 0; c < q.columns; c += head_dim_) {
        std::copy_n(queries_and_gates.f32_row(t) + 2 * c, head_dim_, q.f32_row(t) + c);
      }
    }
  }

  std::int64_t heads_, kv_heads_, head_dim_;
  double eps_;
  LinearWeights qkv_, out_;
  std::vector<float> q_norm_, k_norm_;
};

class GatedDeltaNet final : public Mixer {
 public:
  GatedDeltaNet(const Source& source, const std::string& name, const TextConfig& config)
      : heads_(config.linear),
        keys_(config.linear_keys()),
        values_(config.linear_values()),
        eps_(config.norm_eps),
        in_(source.linear({name + ".in_proj_qkv", name + ".in_proj_z", name + ".in_proj_b",
                           name + ".in_proj_a"})),
        conv_(source.values(name + ".conv1d.weight"), config.conv_channels()),
        a_log_(source.values(name + ".A_log")),
        dt_bias_(source.values(name + ".dt_bias")),
        norm_(source.values(name + ".norm.weight")),
        out_(source.linear({name + ".out_proj"})) {}

  void add(const Context& context, const RopeTables& /*rope*/, const RowsView& normed,
           const RowsView& x) const override {
    const OwnedRows in(*context.arena, DType::kF32, x.rows, in_.out());
    linear(context, in_, normed, in.view());
    const RowsView z = in->slice_columns(conv_.channels, values_);
    const RowsView b = in->slice_columns(conv_.channels + values_, heads_.value_heads);
    const RowsView a =
        in->slice_columns(conv_.channels + values_ + heads_.value_heads, heads_.value_heads);
    decay_gates(context, a_log_, dt_bias_, b, a);
    const OwnedRows qkv(*context.arena, DType::kF32, x.rows, conv_.channels);
    ops::causal_conv1d_silu(context, conv_, in->slice_columns(0, conv_.channels), qkv.view());
    const RowsView q = qkv->slice_columns(0, keys_), k = qkv->slice_columns(keys_, keys_);
    l2_norm_heads(context, heads_.key_dim, q);
    l2_norm_heads(context, heads_.key_dim, k);
    const OwnedRows y(*context.arena, DType::kF32, x.rows, values_);
    ops::gated_delta_rule(context, heads_,
                          {.q = q,
                           .k = k,
                           .v = qkv->slice_columns(2 * keys_, values_),
                           .g = a,
                           .beta = b,
                           .y = y.view()});
    gated_norm(context, norm_, eps_, z, y.view());
    linear(context, out_, y.view(), x, Store::kAdd);
  }

 private:
  ops::DeltaRuleHeads heads_;
  std::int64_t keys_, values_;
  double eps_;
  LinearWeights in_;
  ops::DepthwiseWeights conv_;
  std::vector<float> a_log_, dt_bias_, norm_;
  LinearWeights out_;
};

std::unique_ptr<Mixer> make_mixer(const Source& source, const std::string& layer, LayerKind kind,
                                  const TextConfig& config) {
  return kind == LayerKind::kFullAttention
             ? make_full_attention(source, layer + ".self_attn", config)
             : make_linear_attention(source, layer + ".linear_attn", config);
}

std::string layer_name(std::size_t index) {
  return "layers." + std::to_string(index);
}

}  // namespace

LinearWeights Source::linear(const std::vector<std::string>& names, bool bias) const {
  std::vector<Weight> weights, biases;
  for (const std::string& name : names) {
    weights.emplace_back(checkpoint_.tensors.at(name + ".weight"));
    if (bias) biases.emplace_back(checkpoint_.tensors.at(name + ".bias"));
  }
  return LinearWeights(std::move(weights), biases);
}

std::vector<float> Source::values(const std::string& name) const {
  return Weight(checkpoint_.tensors.at(name)).to_f32();
}

std::vector<float> Source::zero_centred(const std::string& name) const {
  std::vector<float> weights = values(name);
  for (float& weight : weights) weight += 1.0F;
  return weights;
}

std::unique_ptr<Mixer> make_full_attention(const Source& source, const std::string& name,
                                           const TextConfig& config) {
  return std::make_unique<FullAttention>(source, name, config);
}

std::unique_ptr<Mixer> make_linear_attention(const Source& source, const std::string& name,
                                             const TextConfig& config) {
  return std::make_unique<GatedDeltaNet>(source, name, config);
}

Layer::Layer(const Source& source, std::size_t index, const TextConfig& config)
    : eps_(config.norm_eps),
      intermediate_(config.intermediate),
      input_norm_(source.zero_centred(layer_name(index) + ".input_layernorm.weight")),
      mlp_norm_(source.zero_centred(layer_name(index) + ".post_attention_layernorm.weight")),
      mixer_(make_mixer(source, layer_name(index), config.layers[index], config)),
      gate_up_(source.linear(
          {layer_name(index) + ".mlp.gate_proj", layer_name(index) + ".mlp.up_proj"})),
      down_(source.linear({layer_name(index) + ".mlp.down_proj"})) {}

void Layer::run(const Context& context, const RopeTables& rope, const RowsView& x) const {
  const OwnedRows normed(*context.arena, DType::kF32, x.rows, x.columns);
  ops::row_rms_norm(context, x, input_norm_, eps_, normed.view());
  mixer_->add(context, rope, normed.view(), x);
  ops::row_rms_norm(context, x, mlp_norm_, eps_, normed.view());
  const OwnedRows gate_up(*context.arena, DType::kF32, x.rows, gate_up_.out());
  linear(context, gate_up_, normed.view(), gate_up.view());
  const RowsView gate = gate_up->slice_columns(0, intermediate_);
  silu_multiply(context, gate, gate_up->slice_columns(intermediate_, intermediate_));
  linear(context, down_, gate, x, Store::kAdd);
}

}  // namespace pantograph::qwen35_text
