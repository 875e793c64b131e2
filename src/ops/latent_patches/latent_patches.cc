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
  const std::int64_t channels = tokens.columns / patches.patch_elements();
  const std::int64_t frame_elements = patches.height * patches.width;
  parallel_for(tokens.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t corner = patches.offset(token, 0);
      std::int64_t column = token * tokens.stride;
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        for (std::int64_t t = 0; t < patches.patch_t; ++t) {
          const std::int64_t frame = corner + channel * patches.plane() + t * frame_elements;
          for (std::int64_t y = 0; y < patches.patch_height; ++y) {
            for (std::int64_t x = 0; x < patches.patch_width; ++x) {
              copy(frame + y * patches.width + x, column++);
            }
          }
        }
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
