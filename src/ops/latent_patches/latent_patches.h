// Latents to tokens and back: copies, no arithmetic.
#pragma once

#include "core/rows.h"
#include "geometry/latent_patches.h"
#include "ops/context.h"

namespace pantograph::ops {

// latents [channels, T, h, w], f32 and dense, into the columns of `tokens`
// [patches.tokens(), channels * patches.patch_elements()].
void patchify(const Context& context, const geometry::LatentPatches& patches, const float* latents,
              const RowsView& tokens);
// The reverse.
void unpatchify(const Context& context, const geometry::LatentPatches& patches,
                const RowsView& tokens, float* latents);

}  // namespace pantograph::ops
