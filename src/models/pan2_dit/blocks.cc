#include "models/pan2_dit/blocks.h"

#include <algorithm>
#include <cmath>

#include "ops/attention/multi_head.h"
#include "ops/rms_norm/silu.h"
#include "ops/row_norm/row_norm.h"

namespace pantograph::pan2_dit {
namespace {

constexpr double kTextEps = 1e-5;
constexpr double kBlockEps = 1e-6;

// Elements between an MLP's two layers that are held at a time: 256 MiB.
constexpr std::int64_t kMostInner = std::int64_t{1} << 26;

OwnedRows rows(const ops::Context& context, std::int64_t count, std::int64_t columns) {
  return {*context.arena, DType::kF32, count, columns};
}

// Calls body(begin, count) on parts of the rows whose inner activations are within kMostInner.
template <typename Body>
void for_row_parts(std::int64_t rows, std::int64_t inner, const Body& body) {
  const std::int64_t most = std::max<std::int64_t>(1, kMostInner / inner);
  for (std::int64_t begin = 0; begin < rows; begin += most) {
    body(begin, std::min(most, rows - begin));
  }
}

void silu(const ops::Context& context, const RowsView& x) {
  if (context.planning) return;
  for (std::int64_t row = 0; row < x.rows; ++row) ops::silu_row(x.f32_row(row), x.columns);
}

void add_one(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] += 1;
}

QkvProjection joint_qkv(const Source& source, const std::string& name,
                        const std::vector<std::string>& projections, const char* norm_q,
                        const char* norm_k) {
  std::vector<std::string> names;
  for (const std::string& projection : projections) names.push_back(name + "." + projection);
  return {source.stack(names), source.values(join(name, ".", norm_q, ".weight")),
          source.values(join(name, ".", norm_k, ".weight")), kBlockEps};
}

}  // namespace

ops::LinearWeights Source::matrix(const std::string& name) const {
  return stack({name}, false);
}

ops::LinearWeights Source::stack(const std::vector<std::string>& names, bool biases) const {
  std::vector<Weight> weights, bias;
  for (const std::string& name : names) {
    weights.push_back(weights_.weight(name + ".weight"));
    if (biases) bias.push_back(weights_.weight(name + ".bias"));
  }
  return ops::LinearWeights(std::move(weights), bias);
}

std::vector<float> Source::values(const std::string& name) const {
  return weights_.weight(name).to_f32();
}

TimeEmbedder::TimeEmbedder(const Source& source)
    : linear_1_(source.linear("time_embedder.linear_1")),
      linear_2_(source.linear("time_embedder.linear_2")) {}

void fill_sinusoid(double timestep, float* values) {
  // In fp32 throughout, as the model was trained with.
  constexpr std::int64_t kHalf = kTimestepChannels / 2;
  const float decay = -std::log(10000.0F);
  for (std::int64_t i = 0; i < kHalf; ++i) {
    const float frequency = std::exp(decay * static_cast<float>(i) / static_cast<float>(kHalf));
    const float angle = static_cast<float>(timestep) * frequency;
    values[i] = std::cos(angle);
    values[kHalf + i] = std::sin(angle);
  }
}

void TimeEmbedder::run(const ops::Context& context, double timestep, const RowsView& temb) const {
  const OwnedRows sinusoid = rows(context, 1, kTimestepChannels);
  const OwnedRows inner = rows(context, 1, linear_1_.out());
  if (!context.planning) fill_sinusoid(timestep, sinusoid->f32());
  ops::linear(context, linear_1_, sinusoid.view(), inner.view());
  silu(context, inner.view());
  ops::linear(context, linear_2_, inner.view(), temb);
}

void QkvProjection::run(const ops::Context& context, std::int64_t heads, const RowsView& x,
                        const RopeTables& rope, const RowsView& qkv, const RowsView& q,
                        const RowsView& k) const {
  ops::linear(context, projection_, x, qkv);
  norm_rope(context, heads, {.q_weight = norm_q_, .k_weight = norm_k_, .eps = eps_}, rope,
            qkv.slice_columns(0, q.columns), qkv.slice_columns(q.columns, q.columns), q, k);
}

RefinerBlock::RefinerBlock(const Source& source, const std::string& name, const Config& config)
    : heads_(config.heads),
      inner_(config.inner(config.refiner_mlp_ratio)),
      norm1_(source.values(name + ".norm1.weight")),
      norm2_(source.values(name + ".norm2.weight")),
      qkv_(source.stack({name + ".attn.to_q", name + ".attn.to_k", name + ".attn.to_v"}, false),
           source.values(name + ".attn.norm_q.weight"), source.values(name + ".attn.norm_k.weight"),
           kTextEps),
      to_out_(source.matrix(name + ".attn.to_out.0")),
      ff_in_(source.matrix(name + ".ff.net.0.proj")),
      ff_out_(source.matrix(name + ".ff.net.2")) {}

void RefinerBlock::apply_in_place(const ops::Context& context, const RowsView& x) const {
  const std::int64_t channels = x.columns;
  const OwnedRows normed = rows(context, x.rows, channels);
  {
    const OwnedRows qkv = rows(context, x.rows, 3 * channels);
    const OwnedRows q = rows(context, x.rows, channels), k = rows(context, x.rows, channels);
    ops::row_rms_norm(context, x, norm1_, kTextEps, normed.view());
    qkv_.run(context, heads_, normed.view(), {}, qkv.view(), q.view(), k.view());
    ops::multi_head_attention(context, heads_, q.view(), k.view(),
                              qkv->slice_columns(2 * channels, channels), normed.view());
  }
  ops::linear(context, to_out_, normed.view(), x, ops::Store::kAdd);
  ops::row_rms_norm(context, x, norm2_, kTextEps, normed.view());
  const OwnedRows value_gate = rows(context, x.rows, 2 * inner_);
  const OwnedRows inner = rows(context, x.rows, inner_);
  ops::linear(context, ff_in_, normed.view(), value_gate.view());
  gated_silu(context, value_gate.view(), inner.view());
  ops::linear(context, ff_out_, inner.view(), x, ops::Store::kAdd);
}

JointBlock::JointBlock(const Source& source, const std::string& name, const Config& config)
    : heads_(config.heads),
      modulation_(source.linear(name + ".norm1.linear")),
      text_table_(source.values(name + ".scale_shift_table_context")),
      video_{joint_qkv(source, name + ".attn", {"to_q", "to_k", "to_v"}, "norm_q", "norm_k"),
             source.linear(name + ".attn.to_out.0"), source.linear(name + ".ff.net.0.proj"),
             source.linear(name + ".ff.net.2")},
      text_{joint_qkv(source, name + ".attn", {"add_q_proj", "add_k_proj", "add_v_proj"},
                      "norm_added_q", "norm_added_k"),
            source.linear(name + ".attn.to_add_out"),
            source.linear(name + ".ff_context.net.0.proj"),
            source.linear(name + ".ff_context.net.2")} {
  const std::int64_t channels = config.hidden();
  add_one(text_table_.data() + channels, channels);
  add_one(text_table_.data() + 4 * channels, channels);
}

JointBlock::Halves JointBlock::halves(const float* six, std::int64_t channels) {
  const auto half = [&](const float* three) {
    return Modulation{.shift = three, .scale = three + channels, .gate = three + 2 * channels};
  };
  return {.attention = half(six), .mlp = half(six + 3 * channels)};
}

void JointBlock::Stream::mlp(const ops::Context& context, const RowsView& x,
                             const RowsView& y) const {
  for_row_parts(x.rows, ff_in.out(), [&](std::int64_t begin, std::int64_t count) {
    const OwnedRows inner = rows(context, count, ff_in.out());
    ops::linear(context, ff_in, x.slice_rows(begin, count), inner.view());
    gelu(context, inner.view());
    ops::linear(context, ff_out, inner.view(), y.slice_rows(begin, count));
  });
}

void JointBlock::apply_in_place(const ops::Context& context, std::int64_t video_tokens,
                                const RopeTables& rope, const RowsView& silu_temb,
                                const RowsView& x) const {
  const std::int64_t channels = x.columns, text_tokens = x.rows - video_tokens;
  const OwnedRows six = rows(context, 1, 6 * channels);
  ops::linear(context, modulation_, silu_temb, six.view());
  if (!context.planning) {
    add_one(six->f32() + channels, channels);
    add_one(six->f32() + 4 * channels, channels);
  }
  const auto video_of = [&](const RowsView& all) { return all.slice_rows(0, video_tokens); };
  const auto text_of = [&](const RowsView& all) {
    return all.slice_rows(video_tokens, text_tokens);
  };
  const Halves video = halves(six->f32(), channels), text = halves(text_table_.data(), channels);

  const OwnedRows inner = rows(context, x.rows, channels);  // what a layer takes
  norm_modulate(context, video_of(x), video.attention, video_of(inner.view()));
  norm_modulate(context, text_of(x), text.attention, text_of(inner.view()));
  {
    const OwnedRows qkv = rows(context, x.rows, 3 * channels);
    const OwnedRows q = rows(context, x.rows, channels), k = rows(context, x.rows, channels);
    video_.qkv.run(context, heads_, video_of(inner.view()), rope, video_of(qkv.view()),
                   video_of(q.view()), video_of(k.view()));
    text_.qkv.run(context, heads_, text_of(inner.view()), {}, text_of(qkv.view()),
                  text_of(q.view()), text_of(k.view()));
    ops::multi_head_attention(context, heads_, q.view(), k.view(),
                              qkv->slice_columns(2 * channels, channels), inner.view());
  }
  const OwnedRows y = rows(context, x.rows, channels);  // what a layer gives
  ops::linear(context, video_.to_out, video_of(inner.view()), video_of(y.view()));
  ops::linear(context, text_.to_out, text_of(inner.view()), text_of(y.view()));
  residual_norm_modulate(context, video_of(x), video_of(y.view()), video.attention, video.mlp,
                         video_of(inner.view()));
  residual_norm_modulate(context, text_of(x), text_of(y.view()), text.attention, text.mlp,
                         text_of(inner.view()));
  video_.mlp(context, video_of(inner.view()), video_of(y.view()));
  text_.mlp(context, text_of(inner.view()), text_of(y.view()));
  gated_residual(context, video_of(x), video_of(y.view()), video.mlp);
  gated_residual(context, text_of(x), text_of(y.view()), text.mlp);
}

OutputLayer::OutputLayer(const Source& source)
    : modulation_(source.linear("norm_out.linear")), projection_(source.linear("proj_out")) {}

void OutputLayer::run(const ops::Context& context, const RowsView& silu_temb, const RowsView& x,
                      const RowsView& patches) const {
  const OwnedRows two = rows(context, 1, 2 * x.columns);
  ops::linear(context, modulation_, silu_temb, two.view());
  if (!context.planning) add_one(two->f32(), x.columns);
  const OwnedRows normed = rows(context, x.rows, x.columns);
  // Here, unlike in the blocks, the scale comes first.
  norm_modulate(context, x, {.shift = two->f32() + x.columns, .scale = two->f32()}, normed.view());
  ops::linear(context, projection_, normed.view(), patches);
}

}  // namespace pantograph::pan2_dit
