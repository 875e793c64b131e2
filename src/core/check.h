// Helpers that turn a broken expectation into an Error, and arithmetic on sizes that a file names.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include "pantograph/error.h"

namespace pantograph {

// The parts written one after the other with <<.
template <typename... Parts>
std::string join(Parts&&... parts) {
  std::ostringstream text;
  (text << ... << std::forward<Parts>(parts));
  return text.str();
}

template <typename... Parts>
[[noreturn]] void fail(ErrorKind kind, Parts&&... parts) {
  throw Error(kind, join(std::forward<Parts>(parts)...));
}

// Throws kInternal: for what only a defect of ours can break.
template <typename... Parts>
void require(bool holds, Parts&&... parts) {
  if (!holds) fail(ErrorKind::kInternal, std::forward<Parts>(parts)...);
}

// False, with `result` untouched, where the mathematical result does not fit.
inline bool checked_multiply(std::int64_t a, std::int64_t b, std::int64_t& result) {
  std::int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  result = product;
  return true;
}

inline bool checked_add(std::int64_t a, std::int64_t b, std::int64_t& result) {
  std::int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  result = sum;
  return true;
}

}  // namespace pantograph
