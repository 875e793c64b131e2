// The text tower's layers. Activations are [tokens, hidden], f32.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/qwen35_text/config.h"
#include "models/qwen35_text/element_ops.h"
#include "ops/causal_conv1d/causal_conv1d.h"
#include "ops/linear/linear.h"

namespace pantograph::qwen35_text {

// Finds weights by name in a checkpoint whose tensors have been checked.
class Source {
 public:
  explicit Source(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  // Several layers "NAME.weight" of one input as one, with "NAME.bias" where asked for.
  [[nodiscard]] ops::LinearWeights linear(const std::vector<std::string>& names,
                                          bool bias = false) const;
  [[nodiscard]] std::vector<float> values(const std::string& name) const;
  // 1 + w, the weights of a zero-centred norm.
  [[nodiscard]] std::vector<float> zero_centred(const std::string& name) const;

 private:
  const Checkpoint& checkpoint_;
};

// What mixes tokens: x += mixer(normed).
class Mixer {
 public:
  Mixer() = default;
  Mixer(const Mixer&) = delete;
  Mixer& operator=(const Mixer&) = delete;
  virtual ~Mixer() = default;
  virtual void add(const ops::Context& context, const RopeTables& rope, const RowsView& normed,
                   const RowsView& x) const = 0;
};

// `name` is "layers.N.self_attn" or "layers.N.linear_attn".
std::unique_ptr<Mixer> make_full_attention(const Source& source, const std::string& name,
                                           const TextConfig& config);
std::unique_ptr<Mixer> make_linear_attention(const Source& source, const std::string& name,
                                             const TextConfig& config);

// x += mixer(norm x), then x += mlp(norm x).
class Layer {
 public:
  Layer(const Source& source, std::size_t index, const TextConfig& config);
  void run(const ops::Context& context, const RopeTables& rope, const RowsView& x) const;

 private:
  double eps_;
  std::int64_t intermediate_;
  std::vector<float> input_norm_, mlp_norm_;
  std::unique_ptr<Mixer> mixer_;
  ops::LinearWeights gate_up_, down_;
};

}  // namespace pantograph::qwen35_text
