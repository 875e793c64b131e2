#include "weights/weight.h"

#include "core/check.h"
#include "core/convert.h"

namespace pantograph {

Weight::Weight(std::vector<float> values, std::span<const std::int64_t> shape)
    : values_(std::make_shared<std::vector<float>>(std::move(values))) {
  view_ = TensorView::dense(values_->data(), DType::kF32, shape);
  require(view_.elements() == static_cast<std::int64_t>(values_->size()),
          "a weight's values do not fill its shape");
}

std::vector<float> Weight::to_f32() const {
  std::vector<float> values(static_cast<std::size_t>(view_.elements()));
  convert_to_f32(view_.dtype, view_.data, values.data(), view_.elements());
  return values;
}

void Weight::release_pages() const {
  if (file_) file_->release_pages({static_cast<const std::byte*>(view_.data), view_.bytes()});
}

}  // namespace pantograph
