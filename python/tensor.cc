#include "tensor.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/check.h"

namespace nb = nanobind;

namespace pantograph {
namespace {

constexpr int kDlpackMajor = 1;
constexpr std::int32_t kDlpackCpu = 1;
constexpr std::int32_t kDlpackCuda = 2;

// DLPackExchangeAPI of dlpack.h 1.x, as far as we use it.
struct ExchangeApi {
  std::uint32_t major, minor;
  ExchangeApi* previous;
  void* allocate_managed;
  void* managed_from_python;
  void* managed_to_python;
  int (*tensor_from_python)(void* object, nb::dlpack::dltensor* out);
  int (*current_stream)(std::int32_t device_kind, std::int32_t device, void** out);
};

const ExchangeApi& find_exchange_api(nb::handle tensor) {
  constexpr const char* kAttribute = "__dlpack_c_exchange_api__";
  const nb::handle type = tensor.type();
  const nb::object capsule = nb::getattr(type, kAttribute, nb::none());
  if (capsule.is_none()) {
    fail(ErrorKind::kUnsupported,
         "this PyTorch has no C exchange API for tensors: 2.10 or later is needed");
  }
  const auto* api =
      static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api == nullptr) throw nb::python_error();
  if (api->major != kDlpackMajor || api->tensor_from_python == nullptr) {
    fail(ErrorKind::kUnsupported, "this PyTorch exchanges tensors by DLPack ", api->major, ".",
         api->minor, ", but 1.x is needed");
  }
  return *api;
}

// All tensors are PyTorch's, which has one table of functions for the life of the process.
const ExchangeApi& exchange_api(nb::handle tensor) {
  static const ExchangeApi& api = find_exchange_api(tensor);
  return api;
}

[[noreturn]] void refuse(nb::handle tensor) {
  PyErr_Clear();
  const auto text = [&](const char* attribute) {
    const nb::object value = tensor.attr(attribute);
    return std::string(nb::str(nb::handle(value)).c_str());
  };
  fail(ErrorKind::kInvalidArgument, "got a ", text("layout"), " tensor of ", text("dtype"), " on ",
       text("device"),
       ": it must be a dense tensor of float32, bfloat16, float16 or float64 on a CPU or a CUDA "
       "GPU, of at most ",
       TensorView::kMaxRank, " dimensions");
}

std::optional<DType> dtype_of(const nb::dlpack::dtype& dtype) {
  const auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return dtype ==
           nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  };
  if (is(nb::dlpack::dtype_code::Bfloat, 16)) return DType::kBF16;
  if (is(nb::dlpack::dtype_code::Float, 16)) return DType::kF16;
  if (is(nb::dlpack::dtype_code::Float, 32)) return DType::kF32;
  if (is(nb::dlpack::dtype_code::Float, 64)) return DType::kF64;
  return std::nullopt;
}

}  // namespace

TensorView view_of(nb::handle tensor) {
  nb::dlpack::dltensor source;
  if (exchange_api(tensor).tensor_from_python(tensor.ptr(), &source) != 0) refuse(tensor);
  const std::int32_t kind = source.device.device_type;
  const std::optional<DType> dtype = dtype_of(source.dtype);
  if ((kind != kDlpackCpu && kind != kDlpackCuda) || !dtype || source.ndim > TensorView::kMaxRank) {
    refuse(tensor);
  }
  TensorView view{.data = static_cast<std::byte*>(source.data) + source.byte_offset,
                  .dtype = *dtype,
                  .rank = source.ndim};
  std::copy_n(source.shape, source.ndim, view.shape.begin());
  std::copy_n(source.strides, source.ndim, view.strides.begin());
  if (kind == kDlpackCuda) view.device = {DeviceKind::kCuda, source.device.device_id};
  return view;
}

void* current_stream(nb::handle tensor, const Device& device) {
  void* stream = nullptr;
  if (device.kind == DeviceKind::kCuda &&
      exchange_api(tensor).current_stream(kDlpackCuda, device.index, &stream) != 0) {
    throw nb::python_error();
  }
  return stream;
}

}  // namespace pantograph
