// 3 x 3 convolutions from a few channels in two steps: the 3 x 3 pixels around each one gathered as
// its channels, which are enough of them for a product of matrices, and a one-pixel convolution.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// Of the second step: [tap][channel], and unused ones up to a multiple of 64.
std::int64_t patch_channels(std::int64_t in_channels);

// Why a problem is none for these steps; nothing where it is one.
std::optional<std::string> refuse_by_patches(const Conv3dProblem& problem);
// The second step, and its weights.
Conv3dProblem products_of_patches(const Conv3dProblem& problem);
Conv3dWeights weights_of_patches(const Conv3dWeights& weights);

// The second step by `products`. bf16 only.
std::unique_ptr<Conv3dPlan> plan_by_patches(const Conv3dProblem& problem,
                                            const Conv3dWeights& weights,
                                            const Conv3dImplementation& products);

}  // namespace pantograph::ops
