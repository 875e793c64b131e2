// Tensors of one file under tests/golden, and how far ours are from them.
#pragma once

#include <cmath>
#include <filesystem>
#include <span>
#include <string>

#include "checkpoint/safetensors.h"

namespace pantograph::test {

// All f32.
class GoldenTensors {
 public:
  explicit GoldenTensors(const std::string& name)
      : file_(SafetensorsFile::open(std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / name)) {}

  [[nodiscard]] TensorView view(const std::string& name) const { return file_.view(name); }
  [[nodiscard]] std::span<const float> values(const std::string& name) const {
    const TensorView view = file_.view(name);
    return {static_cast<const float*>(view.data), static_cast<std::size_t>(view.elements())};
  }
  [[nodiscard]] const float* data(const std::string& name) const { return values(name).data(); }

 private:
  SafetensorsFile file_;
};

// max|a - b|; infinite where the sizes differ or a number is NaN.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

inline double largest_magnitude(std::span<const float> values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

}  // namespace pantograph::test
