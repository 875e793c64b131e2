// What tensors a model of some configuration has, held against what a checkpoint holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace pantograph {

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
};

// A line for each of these tensors that is missing, of another shape or not of floating point.
std::vector<std::string> tensor_problems(const std::vector<TensorSpec>& specs,
                                         const Checkpoint& checkpoint);

// Throws one Error(kFormat) that lists the first few problems: tensors that are missing, of another
// shape, not of floating point, or not expected.
void check_tensors(const std::vector<TensorSpec>& specs, const Checkpoint& checkpoint);

}  // namespace pantograph
