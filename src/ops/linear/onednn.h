#pragma once

#include <memory>

#include "ops/linear/linear.h"

namespace pantograph::ops {

std::shared_ptr<LinearCache> make_onednn_linear_cache();

// fp32 matmul with weights in the layout that oneDNN asks for.
void onednn_linear(const Context& context, const LinearWeights& weights, const RowsView& x,
                   const RowsView& y, Store store);

}  // namespace pantograph::ops
