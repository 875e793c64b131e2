#include "pantograph/tensor_view.h"

#include "core/check.h"

namespace pantograph {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 1;
}

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "f16";
    case DType::kF64:
      return "f64";
    case DType::kI64:
      return "i64";
    case DType::kI32:
      return "i32";
    case DType::kI16:
      return "i16";
    case DType::kI8:
      return "i8";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      return "bool";
  }
  return "unknown";
}

TensorView TensorView::dense(void* data, DType dtype, std::span<const std::int64_t> shape,
                             Device device) {
  if (shape.size() > kMaxRank) {
    fail(ErrorKind::kInvalidArgument, "a tensor of ", shape.size(), " dimensions; at most ",
         kMaxRank, " are supported");
  }
  TensorView view{
      .data = data, .dtype = dtype, .rank = static_cast<int>(shape.size()), .device = device};
  auto stride = static_cast<std::int64_t>(1);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (int i = view.rank - 1; i >= 0; --i) {
    const std::int64_t size = shape[static_cast<std::size_t>(i)];
    if (size < 0) fail(ErrorKind::kInvalidArgument, "dimension ", i, " has the size ", size);
    view.shape[static_cast<std::size_t>(i)] = size;
    view.strides[static_cast<std::size_t>(i)] = stride;
    if (size > 0 && (!checked_multiply(bytes, size, bytes))) {
      fail(ErrorKind::kInvalidArgument, "a tensor of more than 2^63 bytes");
    }
    if (size > 0) stride *= size;
  }
  return view;
}

TensorView TensorView::dense(void* data, DType dtype, std::initializer_list<std::int64_t> shape,
                             Device device) {
  return dense(data, dtype, std::span<const std::int64_t>(shape.begin(), shape.size()), device);
}

std::int64_t TensorView::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes()) count *= size;
  return count;
}

std::size_t TensorView::bytes() const {
  return static_cast<std::size_t>(elements()) * size_of(dtype);
}

bool TensorView::is_dense() const {
  std::int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const auto d = static_cast<std::size_t>(i);
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

TensorView TensorView::slice(int dimension, std::int64_t begin, std::int64_t count) const {
  const auto d = static_cast<std::size_t>(dimension);
  if (dimension < 0 || dimension >= rank || begin < 0 || count < 0 || begin > shape[d] - count) {
    fail(ErrorKind::kInvalidArgument, "the slice [", begin, ", ", begin + count, ") of dimension ",
         dimension, " does not lie in the tensor");
  }
  TensorView view = *this;
  view.shape[d] = count;
  view.data = static_cast<std::byte*>(data) +
              begin * strides[d] * static_cast<std::int64_t>(size_of(dtype));
  return view;
}

}  // namespace pantograph
