// What a fuzz target does with bytes: parse them. An Error is an answer like any other; a crash, a
// broken promise or another exception is a defect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "pantograph/error.h"
#include "pantograph/tensor_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace pantograph::fuzz {

using Bytes = std::span<const std::byte>;

inline Bytes bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void expect(bool holds) {
  if (!holds) std::abort();
}

inline bool inside(Bytes whole, const void* data, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(data);
  return size == 0 || (begin >= whole.data() && begin + size <= whole.data() + whole.size());
}

// Every element of a view lies in the file.
inline bool inside(Bytes whole, const TensorView& view) {
  if (view.elements() == 0) return true;
  std::int64_t last = 0;
  for (int i = 0; i < view.rank; ++i) {
    const auto d = static_cast<std::size_t>(i);
    last += (view.shape[d] - 1) * view.strides[d];
  }
  return inside(whole, view.data, (static_cast<std::size_t>(last) + 1) * size_of(view.dtype));
}

template <typename Parse>
int parsed(const Parse& parse) {
  try {
    parse();
  } catch (const Error& error) {
    expect(error.kind() != ErrorKind::kInternal);
    expect(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}

}  // namespace pantograph::fuzz
