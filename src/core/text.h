// Small pieces of messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace pantograph {

// "[48, 2, 3, 5]"
inline std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace pantograph
