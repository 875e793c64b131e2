#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/attention/attention.h"
#include "ops/cuda.h"
#include "ops/onednn/adapter.h"
#include "ops/rms_norm/silu.h"

namespace pantograph::ops {
namespace {

using dnnl::memory;

// A matrix inside a larger one, row-major or (for a transposed view) column-major.
memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                    std::int64_t column_stride) {
  return {memory::dims{rows, columns}, memory::data_type::f32,
          memory::dims{row_stride, column_stride}};
}

PANTOGRAPH_VECTOR_CLONES
void softmax_row(float* x, std::int64_t count, float scale) {
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[i]);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = vector_exp((x[i] - largest) * scale);
    sum += x[i];
  }
  const float inverse = 1.0F / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] *= inverse;
}

// C = A B with everything but the matrices' places fixed.
class Product {
 public:
  Product(const memory::desc& a, const memory::desc& b, const memory::desc& c)
      : description_(onednn::matmul(a, b, c, onednn::attributes())) {}
  [[nodiscard]] std::size_t workspace_bytes() const {
    return description_.scratchpad_desc().get_size();
  }
  void run(float* a, float* b, float* c, std::byte* workspace) const {
    const dnnl::engine& engine = onednn::cpu_engine();
    dnnl::stream stream(engine);
    dnnl::matmul(description_)
        .execute(stream, {{DNNL_ARG_SRC, memory(description_.src_desc(), engine, a)},
                          {DNNL_ARG_WEIGHTS, memory(description_.weights_desc(), engine, b)},
                          {DNNL_ARG_DST, memory(description_.dst_desc(), engine, c)},
                          {DNNL_ARG_SCRATCHPAD,
                           memory(description_.scratchpad_desc(), engine, workspace)}});
    stream.wait();
  }

 private:
  dnnl::matmul::primitive_desc description_;
};

}  // namespace

void frame_attention(const Context& context, const FramesView& qkv, const FramesView& y) {
  const std::int64_t channels = y.channels, positions = y.height * y.width;
  require(qkv.channels == 3 * channels && qkv.positions() == y.positions(),
          "frame_attention: qkv and y disagree in shape");
  if (context.device.kind == DeviceKind::kCuda) return cuda::frame_attention(context, qkv, y);
  const std::int64_t row = 3 * channels;
  const float scale = 1.0F / std::sqrt(static_cast<float>(channels));
  // Blocks of one size, so that two products serve them all; the last may overlap the one before.
  const std::int64_t blocks = (positions + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t queries = (positions + blocks - 1) / blocks;
  const Product scores(matrix(queries, channels, row, 1), matrix(channels, positions, 1, row),
                       matrix(queries, positions, positions, 1));
  const Product mix(matrix(queries, positions, positions, 1), matrix(positions, channels, row, 1),
                    matrix(queries, channels, channels, 1));
  const Arena::Block weights =
      context.arena->take(static_cast<std::size_t>(queries * positions) * sizeof(float));
  const Arena::Block workspace =
      context.arena->take(std::max(scores.workspace_bytes(), mix.workspace_bytes()));
  if (context.planning) return;
  auto* s = reinterpret_cast<float*>(weights.data());
  for (std::int64_t block = 0; block < y.frames * blocks; ++block) {
    context.stop_if_cancelled();
    const std::int64_t frame = block / blocks;
    const std::int64_t begin = std::min(block % blocks * queries, positions - queries);
    float* q = qkv.f32() + (frame * positions + begin) * row;
    float* k = qkv.f32() + frame * positions * row + channels;
    float* v = k + channels;
    scores.run(q, k, s, workspace.data());
    parallel_for(queries, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) softmax_row(s + i * positions, positions, scale);
    });
    mix.run(s, v, y.f32() + (frame * positions + begin) * channels, workspace.data());
  }
}

}  // namespace pantograph::ops
