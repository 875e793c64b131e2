#include "core/convert.h"

#include <cstddef>
#include <cstring>

#include "core/check.h"
#include "core/half.h"

namespace pantograph {
namespace {

// Each element through memcpy: a file's tensors may lie at any byte. Compilers make it one load.
template <typename From, typename To, typename Convert>
void convert_each(const void* source, void* target, std::int64_t count, Convert convert) {
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    const To converted = convert(value);
    std::memcpy(to + i * sizeof(To), &converted, sizeof(To));
  }
}

void copy_floats(const void* source, void* target, std::int64_t count) {
  if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace

void convert_to_f32(DType from, const void* source, float* target, std::int64_t count) {
  switch (from) {
    case DType::kF32:
      return copy_floats(source, target, count);
    case DType::kBF16:
      return convert_each<std::uint16_t, float>(source, target, count,
                                                [](auto bits) { return bf16_to_float(bits); });
    case DType::kF16:
      return convert_each<std::uint16_t, float>(source, target, count,
                                                [](auto bits) { return f16_to_float(bits); });
    default:
      fail(ErrorKind::kInvalidArgument, "elements of type ", to_string(from),
           " cannot become f32; expected f32, bf16 or f16");
  }
}

void convert_from_f32(const float* source, DType to, void* target, std::int64_t count) {
  switch (to) {
    case DType::kF32:
      return copy_floats(source, target, count);
    case DType::kBF16:
      return convert_each<float, std::uint16_t>(source, target, count,
                                                [](auto value) { return float_to_bf16(value); });
    case DType::kF16:
      return convert_each<float, std::uint16_t>(source, target, count,
                                                [](auto value) { return float_to_f16(value); });
    default:
      fail(ErrorKind::kInvalidArgument, "f32 cannot become elements of type ", to_string(to),
           "; expected f32, bf16 or f16");
  }
}

}  // namespace pantograph
