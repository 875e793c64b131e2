#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/attention/attention.h"
#include "ops/attention/softmax.h"
#include "ops/cuda.h"
#include "ops/onednn/product.h"

namespace pantograph::ops {

void frame_attention(const Context& context, const FramesView& qkv, const FramesView& y) {
  const std::int64_t channels = y.channels, positions = y.height * y.width;
  require(qkv.channels == 3 * channels && qkv.positions() == y.positions(),
          "frame_attention: qkv and y disagree in shape");
  if (context.device.kind == DeviceKind::kCuda) return cuda::frame_attention(context, qkv, y);
  const RowsView in = RowsView::dense(qkv.f32(), y.frames * positions, 3 * channels);
  const RowsView out = RowsView::dense(y.f32(), y.frames * positions, channels);
  const auto part = [&](std::int64_t which, std::int64_t first, std::int64_t count) {
    return in.slice_rows(first, count).slice_columns(which * channels, channels);
  };
  const float scale = 1.0F / std::sqrt(static_cast<float>(channels));
  // Blocks of one size, so that two products serve them all; the last may overlap the one before.
  const std::int64_t blocks = (positions + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t queries = (positions + blocks - 1) / blocks;
  const OwnedRows weights(*context.arena, DType::kF32, queries, positions);
  const onednn::Product scores(onednn::matrix(part(0, 0, queries)),
                               onednn::transposed(part(1, 0, positions)),
                               onednn::matrix(weights.view()));
  const onednn::Product mix(onednn::matrix(weights.view()), onednn::matrix(part(2, 0, positions)),
                            onednn::matrix(out.slice_rows(0, queries)));
  const Arena::Block workspace =
      context.arena->take(std::max(scores.workspace_bytes(), mix.workspace_bytes()));
  if (context.planning) return;
  for (std::int64_t block = 0; block < y.frames * blocks; ++block) {
    context.stop_if_cancelled();
    const std::int64_t frame = block / blocks * positions;
    const std::int64_t begin = frame + std::min(block % blocks * queries, positions - queries);
    scores.run(part(0, begin, queries).f32(), part(1, frame, positions).f32(), weights->f32(),
               workspace.data());
    parallel_for(queries, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        softmax_row(weights->f32_row(i), positions, scale);
      }
    });
    mix.run(weights->f32(), part(2, frame, positions).f32(), out.f32_row(begin), workspace.data());
  }
}

}  // namespace pantograph::ops
