// A tensor somebody else owns, shaped like DLPack's: pointer, element type, shape, strides, device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "pantograph/export.h"

namespace pantograph {

// Element types that files hold. Arithmetic is done in f32, bf16 and f16 only.
enum class DType : std::uint8_t { kF32, kBF16, kF16, kF64, kI64, kI32, kI16, kI8, kU8, kBool };

PANTOGRAPH_EXPORT std::size_t size_of(DType dtype);    // bytes of one element
PANTOGRAPH_EXPORT const char* to_string(DType dtype);  // "f32", "bf16", ...

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

struct PANTOGRAPH_EXPORT TensorView {
  static constexpr int kMaxRank = 8;

  void* data = nullptr;  // never written through where a function takes the view as its input
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};  // in elements
  Device device{};

  // A dense row-major view. Throws Error(kInvalidArgument) on a negative size, more than kMaxRank
  // dimensions, or a byte count beyond 2^63.
  static TensorView dense(void* data, DType dtype, std::span<const std::int64_t> shape,
                          Device device = {});
  static TensorView dense(void* data, DType dtype, std::initializer_list<std::int64_t> shape,
                          Device device = {});

  [[nodiscard]] std::span<const std::int64_t> sizes() const {
    return {shape.data(), static_cast<std::size_t>(rank)};
  }
  [[nodiscard]] std::int64_t elements() const;  // product of the sizes
  [[nodiscard]] std::size_t bytes() const;      // of a dense tensor of this shape
  [[nodiscard]] bool is_dense() const;          // row-major, no gaps
  // The sub-tensor [begin, begin + count) along `dimension`; no data moves.
  [[nodiscard]] TensorView slice(int dimension, std::int64_t begin, std::int64_t count) const;
};

}  // namespace pantograph
