#include "ops/linear/linear.h"

#include "core/text.h"
#include "ops/linear/onednn.h"

namespace pantograph::ops {

LinearWeights::LinearWeights(std::vector<Weight> parts, const std::vector<Weight>& biases)
    : parts_(std::move(parts)), cache_(make_onednn_linear_cache()) {
  require(!parts_.empty(), "a linear layer without weights");
  for (const Weight& part : parts_) {
    if (part.shape().size() < 2 || part.elements() == 0) {
      fail(ErrorKind::kFormat, "a linear layer's weight has the shape ", shape_text(part.shape()),
           ", expected [out, in]");
    }
    const std::int64_t part_in = part.elements() / part.shape()[0];
    if (in_ != 0 && part_in != in_) {
      fail(ErrorKind::kFormat, "linear layers of one input take ", in_, " and ", part_in,
           " channels");
    }
    in_ = part_in;
    out_ += part.shape()[0];
  }
  if (biases.empty()) return;
  require(biases.size() == parts_.size(), "a linear layer with ", biases.size(), " biases for ",
          parts_.size(), " weights");
  for (std::size_t i = 0; i < biases.size(); ++i) {
    if (biases[i].elements() != parts_[i].shape()[0]) {
      fail(ErrorKind::kFormat, "a linear layer's bias has the shape ",
           shape_text(biases[i].shape()), " for a weight of ", shape_text(parts_[i].shape()));
    }
    const std::vector<float> values = biases[i].to_f32();
    bias_.insert(bias_.end(), values.begin(), values.end());
  }
}

std::vector<float> LinearWeights::to_f32() const {
  if (parts_.size() == 1) return parts_.front().to_f32();
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(in_ * out_));
  for (const Weight& part : parts_) {
    const std::vector<float> rows = part.to_f32();
    values.insert(values.end(), rows.begin(), rows.end());
  }
  return values;
}

void LinearWeights::release_pages() const {
  for (const Weight& part : parts_) part.release_pages();
}

void linear(const Context& context, const LinearWeights& weights, const RowsView& x,
            const RowsView& y, Store store) {
  require(x.columns == weights.in() && y.columns == weights.out() && x.rows == y.rows &&
              x.dtype == DType::kF32 && y.dtype == DType::kF32,
          "linear: x [", x.rows, ", ", x.columns, "] and y [", y.rows, ", ", y.columns,
          "] do not fit a weight [", weights.out(), ", ", weights.in(), "]");
  if (x.rows == 0) return;
  onednn_linear(context, weights, x, y, store);
}

}  // namespace pantograph::ops
