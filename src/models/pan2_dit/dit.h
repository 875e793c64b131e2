// PAN 2's DiT: from noisy latents, a text and a timestep to a velocity, f32 on a CPU.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "core/memory.h"
#include "geometry/latent_patches.h"
#include "models/pan2_dit/blocks.h"
#include "pantograph/execution_context.h"
#include "weights/lora.h"

namespace pantograph::pan2_dit {

// The weights, shared by sessions.
class Dit {
 public:
  // Opens a folder with config.json and safetensors, merges the adapters, checks every name and
  // shape. Weights stay in the mapped files until they are first used. Throws Error.
  static std::shared_ptr<const Dit> open(const std::filesystem::path& folder,
                                         const std::vector<LoraFile>& adapters = {});

  [[nodiscard]] const Config& config() const { return config_; }

 private:
  friend class Session;
  Dit(const Config& config, const Source& source);

  // x [L, C] of hidden states [L, text_channels].
  void refine(const ops::Context& context, const RowsView& hidden_states, const RowsView& x) const;

  Config config_;
  ops::LinearWeights x_embedder_;
  TimeEmbedder time_embedder_;
  std::vector<float> context_norm_;
  ops::LinearWeights context_embedder_;
  std::vector<RefinerBlock> refiner_;
  std::vector<float> context_type_;
  std::vector<JointBlock> blocks_;
  OutputLayer output_;
};

// A text as the blocks take it, [tokens, hidden]: it depends on neither the clip nor the timestep,
// so it is made once.
struct RefinedText {
  std::int64_t tokens = 0;
  std::vector<float> values;
};

// Latent frames, height and width of a clip.
struct LatentSize {
  std::int64_t frames = 0, height = 0, width = 0;
};

// One size of clips: memory is planned at the first use of a text's length and kept. Used by one
// thread at a time.
class Session {
 public:
  // Throws Error(kInvalidArgument) where patches do not fill `size`.
  Session(std::shared_ptr<const Dit> dit, const LatentSize& size,
          const ExecutionContext& context = {}, CancelToken cancel = {});

  // hidden_states [L, text_embed_dim], f32, bf16 or f16, dense, L at least 1.
  [[nodiscard]] RefinedText refine(const TensorView& hidden_states);

  struct Input {
    const float* noisy = nullptr;         // [out_channels, T, h, w]
    const float* conditioning = nullptr;  // [out_channels, T, h, w]; zeros without a first frame
    const float* mask = nullptr;          // [1, T, h, w]: 1 where the conditioning holds
    const RefinedText* text = nullptr;
    double timestep = 0;  // 1000 sigma
  };
  // Told after each block, with the tokens as they are then: the video's rows, then the text's.
  using BlockCallback =
      std::function<void(std::int64_t done, std::int64_t total, const RowsView& tokens)>;
  // velocity [out_channels, T, h, w]. Throws Error(kCancelled), within a block of the token's
  // being triggered.
  void forward(const Input& input, float* velocity, const BlockCallback& on_block = {});

  [[nodiscard]] const Config& config() const { return dit_->config(); }
  [[nodiscard]] std::int64_t latent_elements() const {  // of one channel
    return patches_.plane();
  }
  [[nodiscard]] std::size_t planned_bytes() const { return slab_.bytes(); }

 private:
  using Work = std::function<void(const ops::Context&)>;
  // Runs `work` once to plan where `key` is new, then in earnest.
  void run(std::int64_t key, const Work& work);
  void forward(const ops::Context& context, const Input& input, float* velocity,
               const BlockCallback& on_block) const;
  [[nodiscard]] ops::Context context(bool planning);

  std::shared_ptr<const Dit> dit_;
  geometry::LatentPatches patches_;
  ExecutionContext execution_;
  CancelToken cancel_;
  std::vector<float> cos_, sin_;  // [tokens, head_dim / 2]
  Arena arena_;
  Buffer slab_;
  std::set<std::int64_t> planned_;
};

}  // namespace pantograph::pan2_dit
