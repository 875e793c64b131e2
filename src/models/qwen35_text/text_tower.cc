#include "models/qwen35_text/text_tower.h"

#include <utility>

#include "core/check.h"
#include "core/convert.h"
#include "core/memory.h"
#include "models/qwen35_text/config.h"
#include "models/qwen35_text/layers.h"
#include "ops/row_norm/row_norm.h"

namespace pantograph::qwen35_text {

struct TextTower::Impl {
  TextConfig config;
  CheckpointTensor embeddings;  // read a row at a time, never all of it
  std::vector<Layer> layers;
  std::vector<float> final_norm;  // empty where the entry lies before it

  void embed(std::span<const std::int32_t> ids, const RowsView& x) const {
    const TensorView& table = embeddings.view;
    const std::size_t row_bytes = static_cast<std::size_t>(config.hidden) * size_of(table.dtype);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const auto* row =
          static_cast<const std::byte*>(table.data) + static_cast<std::size_t>(ids[t]) * row_bytes;
      convert_to_f32(table.dtype, row, x.f32_row(static_cast<std::int64_t>(t)), config.hidden);
    }
  }

  void run(const ops::Context& context, const RopeTables& rope, const RowsView& x) const {
    for (const Layer& layer : layers) layer.run(context, rope, x);
    if (!final_norm.empty()) ops::row_rms_norm(context, x, final_norm, config.norm_eps, x);
  }
};

TextTower::TextTower(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextTower::TextTower(TextTower&&) noexcept = default;
TextTower& TextTower::operator=(TextTower&&) noexcept = default;
TextTower::~TextTower() = default;

const TextConfig& TextTower::config() const {
  return impl_->config;
}

TextTower TextTower::open(const std::filesystem::path& folder, int entry) {
  const Checkpoint checkpoint = without_prefixes(open_checkpoint(folder));
  auto impl = std::make_unique<Impl>();
  impl->config = parse_config(checkpoint.config, (folder / "config.json").string());
  const TextConfig& config = impl->config;
  check_tensors(tensors(config), checkpoint);
  const auto count = static_cast<std::int64_t>(config.layers.size());
  const std::int64_t index = entry < 0 ? count + 1 + entry : entry;
  if (index < 0 || index > count) {
    fail(ErrorKind::kInvalidArgument, folder.string(), ": a text tower of ", count,
         " layers has no hidden states ", entry);
  }
  const Source source(checkpoint);
  impl->embeddings = checkpoint.tensors.at("embed_tokens.weight");
  for (std::int64_t i = 0; i < index; ++i) {
    impl->layers.emplace_back(source, static_cast<std::size_t>(i), config);
  }
  if (index == count) impl->final_norm = source.zero_centred("norm.weight");
  return TextTower(std::move(impl));
}

HiddenStates TextTower::encode(std::span<const std::int32_t> ids, std::int64_t begin,
                               const CancelToken* cancel) const {
  const TextConfig& config = impl_->config;
  const auto tokens = static_cast<std::int64_t>(ids.size());
  if (begin < 0 || begin >= tokens) {
    fail(ErrorKind::kInvalidArgument, "hidden states from token ", begin, " on of ", tokens);
  }
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= config.vocabulary) {
      fail(ErrorKind::kInvalidArgument, "the token id ", id, " is outside the text tower's ",
           config.vocabulary, " tokens: the tokenizer belongs to another model");
    }
  }
  const RopeTables rope(tokens, config.rotated, config.rope_theta);
  std::vector<float> values(static_cast<std::size_t>(tokens * config.hidden));
  const RowsView x = RowsView::dense(values.data(), tokens, config.hidden);
  impl_->embed(ids, x);
  // Once to plan, then in memory of the size that planning found.
  Arena arena;
  ops::Context context{.arena = &arena, .planning = true, .cancel = cancel};
  impl_->run(context, rope, x);
  const Buffer memory(arena.peak());
  arena.bind(memory.data(), memory.bytes());
  context.planning = false;
  impl_->run(context, rope, x);
  values.erase(values.begin(), values.begin() + begin * config.hidden);
  return {.tokens = tokens - begin, .hidden = config.hidden, .values = std::move(values)};
}

}  // namespace pantograph::qwen35_text
