// The text tower of PAN 2: token ids to hidden states, in fp32 on the CPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "pantograph/execution_context.h"

namespace pantograph::qwen35_text {

struct TextConfig;

// [tokens, hidden]
struct HiddenStates {
  std::int64_t tokens = 0, hidden = 0;
  std::vector<float> values;
};

class TextTower {
 public:
  // Which hidden states PAN 2 reads, counted as transformers' hidden_states: 0 the embeddings, i
  // the output of layers.{i-1}, the last one normed; negative from the end. Layers behind it are
  // not loaded.
  static constexpr int kPan2Entry = -3;

  // `folder` holds config.json and safetensors. Weights stay in the mapped files until the first
  // prompt, which packs them. Throws Error: kNotFound, kIo, kFormat, kUnsupported; kInvalidArgument
  // for an entry that there is not.
  static TextTower open(const std::filesystem::path& folder, int entry = kPan2Entry);
  TextTower(TextTower&&) noexcept;
  TextTower& operator=(TextTower&&) noexcept;
  ~TextTower();

  [[nodiscard]] const TextConfig& config() const;

  // The hidden states of ids[begin] and what follows; all ids are seen. One prompt, no padding.
  // Throws Error: kInvalidArgument for an id outside the vocabulary, kCancelled, kOutOfMemory.
  [[nodiscard]] HiddenStates encode(std::span<const std::int32_t> ids, std::int64_t begin = 0,
                                    const CancelToken* cancel = nullptr) const;

 private:
  struct Impl;
  explicit TextTower(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pantograph::qwen35_text
