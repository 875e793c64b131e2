#include "models/pan2_dit/dit.h"

#include <algorithm>

#include "core/convert.h"
#include "core/parallel.h"
#include "core/text.h"
#include "ops/latent_patches/latent_patches.h"
#include "ops/rms_norm/silu.h"
#include "ops/row_norm/row_norm.h"

namespace pantograph::pan2_dit {
namespace {

constexpr double kTextEps = 1e-5;

geometry::LatentPatches patches_of(const Config& config, const LatentSize& size) {
  const geometry::LatentPatches patches{.frames = size.frames,
                                        .height = size.height,
                                        .width = size.width,
                                        .patch_t = config.patch[0],
                                        .patch_height = config.patch[1],
                                        .patch_width = config.patch[2]};
  if (!patches.fits()) {
    fail(ErrorKind::kInvalidArgument, "latents of ", size.frames, " frames of ", size.height, " x ",
         size.width, " cannot be cut into patches of ", config.patch[0], " x ", config.patch[1],
         " x ", config.patch[2], ": each size must be a positive multiple");
  }
  // Checks that the widest activations can be counted.
  TensorView::dense(nullptr, DType::kF64,
                    {size.frames, size.height, size.width, 16 * config.hidden()});
  return patches;
}

}  // namespace

std::shared_ptr<const Dit> Dit::open(const std::filesystem::path& folder,
                                     const std::vector<LoraFile>& adapters) {
  const Checkpoint checkpoint = open_checkpoint(folder);
  const Config config = parse_config(checkpoint.config, (folder / "config.json").string());
  check_tensors(tensors(config), checkpoint);
  const WeightSource weights(checkpoint, adapters);
  return std::shared_ptr<const Dit>(new Dit(config, Source(weights)));
}

Dit::Dit(const Config& config, const Source& source)
    : config_(config),
      x_embedder_(source.linear("x_embedder")),
      time_embedder_(source),
      context_norm_(source.values("context_embedder.0.weight")),
      context_embedder_(source.linear("context_embedder.1")),
      context_type_(source.values("context_type_embedding")),
      output_(source) {
  for (std::int64_t i = 0; i < config.refiner_layers; ++i) {
    refiner_.emplace_back(source, "context_refiner." + std::to_string(i), config);
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    blocks_.emplace_back(source, "transformer_blocks." + std::to_string(i), config);
  }
}

void Dit::refine(const ops::Context& context, const RowsView& hidden_states,
                 const RowsView& x) const {
  const OwnedRows normed(*context.arena, DType::kF32, hidden_states.rows, hidden_states.columns);
  ops::row_rms_norm(context, hidden_states, context_norm_, kTextEps, normed.view());
  ops::linear(context, context_embedder_, normed.view(), x);
  for (const RefinerBlock& block : refiner_) block.apply_in_place(context, x);
  if (context.planning) return;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t c = 0; c < x.columns; ++c) {
      x.f32_row(row)[c] += context_type_[static_cast<std::size_t>(c)];
    }
  }
}

Session::Session(std::shared_ptr<const Dit> dit, const LatentSize& size,
                 const ExecutionContext& context, CancelToken cancel)
    : dit_(std::move(dit)),
      patches_(patches_of(dit_->config(), size)),
      execution_(context),
      cancel_(std::move(cancel)) {
  if (context.device.kind != DeviceKind::kCpu) {
    fail(ErrorKind::kUnsupported, "the DiT runs on a CPU only in this version");
  }
  const geometry::Rope& rope = config().rope;
  cos_.resize(static_cast<std::size_t>(patches_.tokens() * rope.pairs()));
  sin_.resize(cos_.size());
  geometry::fill_rope_tables(rope, patches_.grid_t(), patches_.grid_height(), patches_.grid_width(),
                             cos_.data(), sin_.data());
}

ops::Context Session::context(bool planning) {
  return {.device = execution_.device,
          .stream = execution_.stream,
          .arena = &arena_,
          .planning = planning,
          .cancel = &cancel_};
}

void Session::run(std::int64_t key, const Work& work) {
  const ThreadLimit threads(execution_.threads);
  if (!planned_.contains(key)) {
    slab_ = Buffer();
    arena_.bind(nullptr, 0);
    work(context(true));
    slab_ = Buffer(arena_.peak(), execution_.allocator);
    arena_.bind(slab_.data(), slab_.bytes());
    planned_.insert(key);
  }
  work(context(false));
}

RefinedText Session::refine(const TensorView& hidden_states) {
  const Config& config = dit_->config();
  if (hidden_states.rank != 2 || hidden_states.shape[1] != config.text_channels ||
      hidden_states.shape[0] < 1 || !hidden_states.is_dense()) {
    fail(ErrorKind::kInvalidArgument, "a text's hidden states have the shape ",
         shape_text(hidden_states.sizes()), "; expected [tokens, ", config.text_channels,
         "], at least one token");
  }
  const std::int64_t tokens = hidden_states.shape[0];
  std::vector<float> values(static_cast<std::size_t>(hidden_states.elements()));
  convert_to_f32(hidden_states.dtype, hidden_states.data, values.data(), hidden_states.elements());
  RefinedText text{
      .tokens = tokens,
      .values = std::vector<float>(static_cast<std::size_t>(tokens * config.hidden()))};
  run(-tokens, [&](const ops::Context& context) {
    dit_->refine(context, RowsView::dense(values.data(), tokens, config.text_channels),
                 RowsView::dense(text.values.data(), tokens, config.hidden()));
  });
  return text;
}

void Session::forward(const Input& input, float* velocity, const BlockCallback& on_block) {
  run(input.text->tokens,
      [&](const ops::Context& context) { forward(context, input, velocity, on_block); });
}

void Session::forward(const ops::Context& context, const Input& input, float* velocity,
                      const BlockCallback& on_block) const {
  const Config& config = dit_->config();
  const std::int64_t video_tokens = patches_.tokens(), hidden = config.hidden();
  const OwnedRows x(*context.arena, DType::kF32, video_tokens + input.text->tokens, hidden);
  const RowsView video = x->slice_rows(0, video_tokens);
  {
    const std::int64_t latent_columns = config.out_channels * patches_.patch_elements();
    const OwnedRows patches(*context.arena, DType::kF32, video_tokens,
                            config.in_channels * patches_.patch_elements());
    const auto place = [&](const float* latents, std::int64_t begin, std::int64_t count) {
      ops::patchify(context, patches_, latents, patches->slice_columns(begin, count));
    };
    place(input.noisy, 0, latent_columns);
    place(input.conditioning, latent_columns, latent_columns);
    place(input.mask, 2 * latent_columns, patches_.patch_elements());
    ops::linear(context, dit_->x_embedder_, patches.view(), video);
  }
  const OwnedRows temb(*context.arena, DType::kF32, 1, hidden);
  dit_->time_embedder_.run(context, input.timestep, temb.view());
  if (!context.planning) {
    ops::silu_row(temb->f32(), hidden);  // only ever used so
    std::copy(input.text->values.begin(), input.text->values.end(), x->f32_row(video_tokens));
  }
  const auto total = static_cast<std::int64_t>(dit_->blocks_.size());
  for (std::int64_t i = 0; i < total; ++i) {
    context.stop_if_cancelled();
    dit_->blocks_[static_cast<std::size_t>(i)].apply_in_place(
        context, video_tokens, {.cos = cos_.data(), .sin = sin_.data()}, temb.view(), x.view());
    if (on_block && !context.planning) on_block(i + 1, total, x.view());
  }
  const OwnedRows patches(*context.arena, DType::kF32, video_tokens,
                          config.out_channels * patches_.patch_elements());
  dit_->output_.run(context, temb.view(), video, patches.view());
  ops::unpatchify(context, patches_, patches.view(), velocity);
}

}  // namespace pantograph::pan2_dit
