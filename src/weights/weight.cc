#include "weights/weight.h"

#include "core/check.h"
#include "core/convert.h"
#include "core/parallel.h"

namespace pantograph {
namespace {

void merge(const LowRankUpdate& update, std::int64_t row, float* target, std::int64_t in) {
  for (std::int64_t r = 0; r < update.rank; ++r) {
    const auto factor = static_cast<float>(update.scale * update.b[row * update.rank + r]);
    const float* a = update.a.data() + r * in;
    for (std::int64_t i = 0; i < in; ++i) target[i] += factor * a[i];
  }
}

}  // namespace

Weight::Weight(std::vector<float> values, std::span<const std::int64_t> shape)
    : values_(std::make_shared<std::vector<float>>(std::move(values))) {
  view_ = TensorView::dense(values_->data(), DType::kF32, shape);
  require(view_.elements() == static_cast<std::int64_t>(values_->size()),
          "a weight's values do not fill its shape");
}

void Weight::write_row(std::int64_t row, float* target) const {
  const std::int64_t in = elements() / shape()[0];
  const auto* source = static_cast<const std::byte*>(view_.data) +
                       static_cast<std::size_t>(row * in) * size_of(view_.dtype);
  convert_to_f32(view_.dtype, source, target, in);
  for (const auto& update : updates_) merge(*update, row, target, in);
}

std::vector<float> Weight::row_to_f32(std::int64_t row) const {
  std::vector<float> values(static_cast<std::size_t>(elements() / shape()[0]));
  write_row(row, values.data());
  return values;
}

std::vector<float> Weight::to_f32() const {
  std::vector<float> values(static_cast<std::size_t>(elements()));
  if (values.empty()) return values;
  const std::int64_t in = elements() / shape()[0];
  parallel_for(shape()[0], 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) write_row(row, values.data() + row * in);
  });
  return values;
}

void Weight::release_pages() const {
  if (file_) file_->release_pages({static_cast<const std::byte*>(view_.data), view_.bytes()});
}

}  // namespace pantograph
