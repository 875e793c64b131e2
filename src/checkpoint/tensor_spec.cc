#include "checkpoint/tensor_spec.h"

#include <algorithm>
#include <set>

#include "core/check.h"
#include "core/text.h"

namespace pantograph {
namespace {

std::string problem_of(const TensorSpec& spec, const Checkpoint& checkpoint) {
  const auto found = checkpoint.tensors.find(spec.name);
  if (found == checkpoint.tensors.end()) return spec.name + " is missing";
  const TensorView& view = found->second.view;
  if (!std::equal(spec.shape.begin(), spec.shape.end(), view.sizes().begin(), view.sizes().end())) {
    return join(spec.name, " has the shape ", shape_text(view.sizes()), ", expected ",
                shape_text(spec.shape));
  }
  if (view.dtype != DType::kF32 && view.dtype != DType::kBF16 && view.dtype != DType::kF16) {
    return join(spec.name, " is ", to_string(view.dtype), ", expected f32, bf16 or f16");
  }
  return {};
}

}  // namespace

std::vector<std::string> tensor_problems(const std::vector<TensorSpec>& specs,
                                         const Checkpoint& checkpoint) {
  std::vector<std::string> problems;
  for (const TensorSpec& spec : specs) {
    std::string problem = problem_of(spec, checkpoint);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  return problems;
}

void check_tensors(const std::vector<TensorSpec>& specs, const Checkpoint& checkpoint) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> problems = tensor_problems(specs, checkpoint);
  std::set<std::string> expected;
  for (const TensorSpec& spec : specs) expected.insert(spec.name);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (!expected.contains(name)) problems.push_back(name + " is not expected");
  }
  if (problems.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) {
    text += (i == 0 ? "" : "; ") + problems[i];
  }
  if (problems.size() > kShown) text += join("; and ", problems.size() - kShown, " more");
  fail(ErrorKind::kFormat, checkpoint.path.string(), ": weights and config.json disagree: ", text);
}

}  // namespace pantograph
