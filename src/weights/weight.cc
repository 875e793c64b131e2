#include "weights/weight.h"

#include "core/check.h"
#include "core/convert.h"
#include "core/parallel.h"

namespace pantograph {
namespace {

void merge(const LowRankUpdate& update, std::int64_t out, std::vector<float>& values) {
  const std::int64_t in = static_cast<std::int64_t>(values.size()) / out;
  parallel_for(out, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* target = values.data() + row * in;
      for (std::int64_t r = 0; r < update.rank; ++r) {
        const auto factor = static_cast<float>(update.scale * update.b[row * update.rank + r]);
        const float* a = update.a.data() + r * in;
        for (std::int64_t i = 0; i < in; ++i) target[i] += factor * a[i];
      }
    }
  });
}

}  // namespace

Weight::Weight(std::vector<float> values, std::span<const std::int64_t> shape)
    : values_(std::make_shared<std::vector<float>>(std::move(values))) {
  view_ = TensorView::dense(values_->data(), DType::kF32, shape);
  require(view_.elements() == static_cast<std::int64_t>(values_->size()),
          "a weight's values do not fill its shape");
}

std::vector<float> Weight::to_f32() const {
  std::vector<float> values(static_cast<std::size_t>(view_.elements()));
  convert_to_f32(view_.dtype, view_.data, values.data(), view_.elements());
  for (const auto& update : updates_) merge(*update, shape()[0], values);
  return values;
}

void Weight::release_pages() const {
  if (file_) file_->release_pages({static_cast<const std::byte*>(view_.data), view_.bytes()});
}

}  // namespace pantograph
