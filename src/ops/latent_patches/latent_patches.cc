#include "ops/latent_patches/latent_patches.h"

#include "core/parallel.h"

namespace pantograph::ops {
namespace {

constexpr std::int64_t kGrain = 64;  // tokens a thread at least

// Calls copy(offset in the latents, offset in the tokens) for every element.
template <typename Copy>
void for_each_element(const Context& context, const geometry::LatentPatches& patches,
                      const RowsView& tokens, const Copy& copy) {
  require(tokens.rows == patches.tokens() && tokens.columns % patches.patch_elements() == 0,
          "latent_patches: ", tokens.rows, " x ", tokens.columns, " tokens for ", patches.tokens(),
          " patches of ", patches.patch_elements());
  if (context.planning) return;
  parallel_for(tokens.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      for (std::int64_t column = 0; column < tokens.columns; ++column) {
        copy(patches.offset(token, column), token * tokens.stride + column);
      }
    }
  });
}

}  // namespace

void patchify(const Context& context, const geometry::LatentPatches& patches, const float* latents,
              const RowsView& tokens) {
  for_each_element(context, patches, tokens,
                   [&](std::int64_t from, std::int64_t to) { tokens.f32()[to] = latents[from]; });
}

void unpatchify(const Context& context, const geometry::LatentPatches& patches,
                const RowsView& tokens, float* latents) {
  for_each_element(context, patches, tokens,
                   [&](std::int64_t to, std::int64_t from) { latents[to] = tokens.f32()[from]; });
}

}  // namespace pantograph::ops
