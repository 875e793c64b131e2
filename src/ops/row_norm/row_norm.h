// RMSNorm of rows: y = x / sqrt(mean(x^2) + eps) * weight.
#pragma once

#include <span>

#include "core/rows.h"
#include "ops/context.h"

namespace pantograph::ops {

// x and y [rows, C], f32, weight [C]; y may be x.
void row_rms_norm(const Context& context, const RowsView& x, std::span<const float> weight,
                  double eps, const RowsView& y);

}  // namespace pantograph::ops
