// One tensor of a model, read where it is first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "pantograph/tensor_view.h"

namespace pantograph {

class Weight {
 public:
  Weight() = default;
  explicit Weight(CheckpointTensor tensor) : view_(tensor.view), file_(std::move(tensor.file)) {}
  // Values held in memory, for tests and for weights made from others.
  Weight(std::vector<float> values, std::span<const std::int64_t> shape);

  [[nodiscard]] std::span<const std::int64_t> shape() const { return view_.sizes(); }
  [[nodiscard]] std::int64_t elements() const { return view_.elements(); }

  [[nodiscard]] std::vector<float> to_f32() const;

  // The values have been packed elsewhere: lets the system take back the file's pages.
  void release_pages() const;

 private:
  TensorView view_;
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<std::vector<float>> values_;
};

}  // namespace pantograph
