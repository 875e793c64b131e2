// A linear layer over rows: y = x W^T + bias, or y += x W^T + bias.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/rows.h"
#include "ops/context.h"
#include "weights/weight.h"

namespace pantograph::ops {

// What an implementation keeps with the weights: packed copies and plans.
struct LinearCache;

// W [out, in] and bias [out], packed at the first run, after which the file's pages are given back.
// Shared by all sessions; for several threads at a time.
class LinearWeights {
 public:
  // Several weights are one matrix, stacked along `out` in their order (Q, K and V of one stream).
  // Dimensions after the first count as `in` together (a convolution over whole patches). As many
  // biases as weights, or none. Throws Error(kFormat) where shapes disagree.
  explicit LinearWeights(std::vector<Weight> parts, const std::vector<Weight>& biases = {});

  [[nodiscard]] std::int64_t in() const { return in_; }
  [[nodiscard]] std::int64_t out() const { return out_; }
  // Empty where there is none.
  [[nodiscard]] const std::vector<float>& bias() const { return bias_; }

  // W as it is in the files, [out, in].
  [[nodiscard]] std::vector<float> to_f32() const;
  void release_pages() const;

  [[nodiscard]] LinearCache& cache() const { return *cache_; }

 private:
  std::vector<Weight> parts_;
  std::int64_t in_ = 0, out_ = 0;
  std::vector<float> bias_;
  std::shared_ptr<LinearCache> cache_;
};

enum class Store { kReplace, kAdd };

// x [rows, in], y [rows, out], f32; y is not x. kAdd adds to what y holds: a residual.
void linear(const Context& context, const LinearWeights& weights, const RowsView& x,
            const RowsView& y, Store store = Store::kReplace);

// The same as plain loops.
void reference_linear(const LinearWeights& weights, const RowsView& x, const RowsView& y,
                      Store store = Store::kReplace);

}  // namespace pantograph::ops
