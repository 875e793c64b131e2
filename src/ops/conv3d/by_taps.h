// 3 x 3 convolutions to a few channels in two steps: a one-pixel convolution to the products of all
// nine taps, which are enough channels to fill a product of matrices, and then their sums.
#pragma once

#include <functional>
#include <memory>

#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// Channels of the first step: [tap][channel], and unused ones.
inline constexpr std::int64_t kTapChannels = 128;

// Why a problem is none for these steps; nothing where it is one.
std::optional<std::string> refuse_by_taps(const Conv3dProblem& problem);
// The first step, and its weights. The bias goes with the middle tap, which no edge cuts off.
Conv3dProblem products_of_taps(const Conv3dProblem& problem);
Conv3dWeights weights_of_taps(const Conv3dWeights& weights);

// `plan_products` plans the first step, whose weights outlive its plan; it writes `dtype`, f16 or
// bf16.
using PlanConv3d = std::function<std::unique_ptr<Conv3dPlan>(const Conv3dProblem& problem,
                                                             const Conv3dWeights& weights)>;
std::unique_ptr<Conv3dPlan> plan_by_taps(const Conv3dProblem& problem, const Conv3dWeights& weights,
                                         DType dtype, const PlanConv3d& plan_products);

}  // namespace pantograph::ops
