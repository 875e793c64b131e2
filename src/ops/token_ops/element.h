// Element types of the reference loops: what is stored, what is computed with, and rounding.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/check.h"
#include "core/half.h"
#include "kernels/token_ops/problem.h"

namespace pantograph::ops::reference {

struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

template <typename T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

inline double widen(double value) {
  return value;
}
inline float widen(float value) {
  return value;
}
inline float widen(BFloat16 value) {
  return bf16_to_float(value.bits);
}
inline float widen(Float16 value) {
  return f16_to_float(value.bits);
}

// `value` rounded to T.
template <typename T>
T narrow(Compute<T> value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return {float_to_bf16(value)};
  } else if constexpr (std::is_same_v<T, Float16>) {
    return {float_to_f16(value)};
  } else {
    return value;
  }
}

template <typename T>
Compute<T> rounded(Compute<T> value) {
  return widen(narrow<T>(value));
}

template <typename Body>
void with_element_type(DType dtype, Body body) {
  switch (dtype) {
    case DType::kF32:
      return body(float{});
    case DType::kF64:
      return body(double{});
    case DType::kBF16:
      return body(BFloat16{});
    case DType::kF16:
      return body(Float16{});
    default:
      require(false, "no reference for ", to_string(dtype));
  }
}

template <typename T>
const T* row_of(const Rows& rows, std::int64_t sample, std::int64_t token) {
  return static_cast<const T*>(rows.data) + sample * rows.strides.batch +
         token * rows.strides.token;
}

template <typename T>
const T* entry_of(const Table& table, std::int64_t sample) {
  return static_cast<const T*>(table.data) + sample * table.stride;
}

template <typename T>
T* dense_row(void* data, const TokenShape& shape, std::int64_t sample, std::int64_t token) {
  return static_cast<T*>(data) + (sample * shape.tokens + token) * shape.channels;
}

// Calls body(sample, token) for every row.
template <typename Body>
void for_each_row(const TokenShape& shape, Body body) {
  for (std::int64_t sample = 0; sample < shape.batch; ++sample) {
    for (std::int64_t token = 0; token < shape.tokens; ++token) body(sample, token);
  }
}

}  // namespace pantograph::ops::reference
