// One tensor of a model, read where it is first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

// scale * B A, what a LoRA adds to a weight [out, in].
struct LowRankUpdate {
  std::int64_t rank = 0;
  double scale = 1;
  std::vector<float> a;  // [rank, in]
  std::vector<float> b;  // [out, rank]
};

class Weight {
 public:
  Weight() = default;
  explicit Weight(CheckpointTensor tensor) : view_(tensor.view), file_(std::move(tensor.file)) {}
  // Values held in memory, for tests and for weights made from others.
  Weight(std::vector<float> values, std::span<const std::int64_t> shape);

  [[nodiscard]] std::span<const std::int64_t> shape() const { return view_.sizes(); }
  [[nodiscard]] std::int64_t elements() const { return view_.elements(); }

  // Merged wherever the values are read from now on; its sizes fit. Dimensions after the first
  // count as `in`.
  void add(std::shared_ptr<const LowRankUpdate> update) { updates_.push_back(std::move(update)); }

  [[nodiscard]] std::vector<float> to_f32() const;
  // Of one index of the first dimension.
  [[nodiscard]] std::vector<float> row_to_f32(std::int64_t row) const;
  // As they are stored, where nothing is merged into them.
  [[nodiscard]] const TensorView* stored() const { return updates_.empty() ? &view_ : nullptr; }

  // The values have been packed elsewhere: lets the system take back the file's pages.
  void release_pages() const;

 private:
  void write_row(std::int64_t row, float* target) const;
  TensorView view_;
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<std::vector<float>> values_;
  std::vector<std::shared_ptr<const LowRankUpdate>> updates_;
};

}  // namespace pantograph
