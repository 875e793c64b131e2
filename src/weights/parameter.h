// A few f32 values of a model that every device needs its own copy of: gammas, scales.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "device/memory.h"

namespace pantograph {

class Parameter {
 public:
  // A vector of values is a parameter. NOLINTNEXTLINE(google-explicit-constructor)
  Parameter(std::vector<float> values) : state_(std::make_unique<State>(std::move(values))) {}

  [[nodiscard]] std::span<const float> values() const { return state_->values; }
  [[nodiscard]] std::int64_t size() const { return std::ssize(state_->values); }

  // The values on a GPU, copied there at the first call for it. For several threads at a time.
  [[nodiscard]] const float* on(const Device& device) const;

 private:
  struct Copy {
    Device device;
    device::Memory memory;
  };
  struct State {
    explicit State(std::vector<float> v) : values(std::move(v)) {}
    std::vector<float> values;
    std::mutex mutex;
    std::list<Copy> copies;
  };
  std::unique_ptr<State> state_;
};

}  // namespace pantograph
