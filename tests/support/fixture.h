// Files as other programs write them: tests/fixtures, made by tools/fixtures/generate.py.
#pragma once

#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pantograph/tensor_view.h"

namespace pantograph::test {

inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(PANTOGRAPH_GOLDEN_DIR).parent_path() / "fixtures" / name;
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// The elements of a view in row-major order, whatever its strides.
template <typename T>
std::vector<T> elements_of(const TensorView& view) {
  std::vector<T> values;
  std::vector<std::int64_t> at(static_cast<std::size_t>(view.rank), 0);
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * view.strides[d];
    T value;
    std::memcpy(&value, static_cast<const T*>(view.data) + offset, sizeof(T));
    values.push_back(value);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == view.shape[d];) at[d] = 0;
  }
  return values;
}

}  // namespace pantograph::test
