// The DiT's parts, each a direct transcription of its definition.
#pragma once

#include <string>
#include <vector>

#include "models/pan2_dit/config.h"
#include "models/pan2_dit/token_ops.h"
#include "ops/linear/linear.h"
#include "weights/weight_source.h"

namespace pantograph::pan2_dit {

// Finds weights by name; they have been checked against tensors().
class Source {
 public:
  explicit Source(const WeightSource& weights) : weights_(weights) {}
  // "NAME.weight" and "NAME.bias", or the weight alone.
  [[nodiscard]] ops::LinearWeights linear(const std::string& name) const { return stack({name}); }
  [[nodiscard]] ops::LinearWeights matrix(const std::string& name) const;
  // Several as one, for an input they share.
  [[nodiscard]] ops::LinearWeights stack(const std::vector<std::string>& names,
                                         bool biases = true) const;
  [[nodiscard]] std::vector<float> values(const std::string& name) const;

 private:
  const WeightSource& weights_;
};

// temb [1, hidden] of a timestep.
class TimeEmbedder {
 public:
  explicit TimeEmbedder(const Source& source);
  void run(const ops::Context& context, double timestep, const RowsView& temb) const;

 private:
  ops::LinearWeights linear_1_, linear_2_;
};

// cos, then sin, of the timestep at kTimestepChannels / 2 frequencies, down to 1 / 10000.
void fill_sinusoid(double timestep, float* values);

// q, k and v of one stream, side by side, and the norms of q and k.
class QkvProjection {
 public:
  QkvProjection(ops::LinearWeights projection, std::vector<float> norm_q, std::vector<float> norm_k,
                double eps)
      : projection_(std::move(projection)),
        norm_q_(std::move(norm_q)),
        norm_k_(std::move(norm_k)),
        eps_(eps) {}

  // qkv [tokens, 3 C] of x [tokens, C]; q and k [tokens, C] are normed and rotated.
  void run(const ops::Context& context, std::int64_t heads, const RowsView& x,
           const RopeTables& rope, const RowsView& qkv, const RowsView& q, const RowsView& k) const;

 private:
  ops::LinearWeights projection_;
  std::vector<float> norm_q_, norm_k_;
  double eps_;
};

// A block of the text alone, without time: x += attention(norm x), x += mlp(norm x).
class RefinerBlock {
 public:
  RefinerBlock(const Source& source, const std::string& name, const Config& config);
  void apply_in_place(const ops::Context& context, const RowsView& x) const;

 private:
  std::int64_t heads_, inner_;
  std::vector<float> norm1_, norm2_;
  QkvProjection qkv_;
  ops::LinearWeights to_out_, ff_in_, ff_out_;
};

// A block of two streams that meet in one attention. `x` holds the video's rows, then the text's.
class JointBlock {
 public:
  JointBlock(const Source& source, const std::string& name, const Config& config);
  // silu_temb [1, C]
  void apply_in_place(const ops::Context& context, std::int64_t video_tokens,
                      const RopeTables& rope, const RowsView& silu_temb, const RowsView& x) const;

 private:
  // Modulations of the attention's half and the MLP's.
  struct Halves {
    Modulation attention, mlp;
  };
  static Halves halves(const float* six, std::int64_t channels);

  // One stream's weights.
  struct Stream {
    QkvProjection qkv;
    ops::LinearWeights to_out, ff_in, ff_out;
    void mlp(const ops::Context& context, const RowsView& x, const RowsView& y) const;
  };

  std::int64_t heads_;
  ops::LinearWeights modulation_;
  std::vector<float> text_table_;  // as halves() takes it
  Stream video_, text_;
};

// The last norm and projection: tokens [S, C] to patches [S, out_channels * patch_elements].
class OutputLayer {
 public:
  explicit OutputLayer(const Source& source);
  void run(const ops::Context& context, const RowsView& silu_temb, const RowsView& x,
           const RowsView& patches) const;

 private:
  ops::LinearWeights modulation_, projection_;
};

}  // namespace pantograph::pan2_dit
