// 3 x 3 convolutions to a few channels in two steps: a one-pixel convolution to the products of all
// nine taps, which are enough channels to fill a product of matrices, and then their sums.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// Channels of the first step: [tap][channel], and unused ones.
inline constexpr std::int64_t kTapChannels = 128;

// Why a problem is none for these steps; nothing where it is one.
std::optional<std::string> refuse_by_taps(const Conv3dProblem& problem);
// The first step, and its weights. The bias goes with the middle tap, which no edge cuts off.
Conv3dProblem products_of_taps(const Conv3dProblem& problem);
Conv3dWeights weights_of_taps(const Conv3dWeights& weights);

// The first step by `products`, which writes `dtype`, f16 or bf16.
std::unique_ptr<Conv3dPlan> plan_by_taps(const Conv3dProblem& problem, const Conv3dWeights& weights,
                                         const Conv3dImplementation& products, DType dtype);

}  // namespace pantograph::ops
