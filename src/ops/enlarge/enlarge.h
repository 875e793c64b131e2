// The decoder's spatial upsampler: frames twice as high and wide, then a 3 x 3 convolution.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "core/frames.h"
#include "geometry/upsample.h"
#include "ops/context.h"
#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

// The convolution's weights [C, C, 3, 3] and, made of them where somebody asks, those of four 2 x 2
// convolutions over the frames as they were. Output row 2 i sees rows i - 1, i, i of them and
// output row 2 i + 1 sees i, i, i + 1, so that two of three taps share a pixel and their weights
// can be added before: 4 products an output instead of 9. Columns likewise.
class EnlargeWeights {
 public:
  EnlargeWeights(const Weight& weight, const Weight& bias);

  [[nodiscard]] const Conv3dWeights& whole() const { return whole_; }
  // For outputs at odd (1) or even (0) rows and columns. For several threads at a time.
  [[nodiscard]] const Conv3dWeights& phase(std::int64_t row, std::int64_t column) const;

 private:
  Weight bias_;
  Conv3dWeights whole_;
  struct Phases {
    std::once_flag once;
    std::vector<Conv3dWeights> weights;  // [row][column]
  };
  std::unique_ptr<Phases> phases_ = std::make_unique<Phases>();
};

// The decoder's upsampler with the shortcut around it: y = conv(nearest_upsample(x)) + bias +
// duplicate_upsample(shortcut).
struct Enlargement {
  FramesView x;         // as nearest_upsample has it
  FramesView shortcut;  // as duplicate_upsample has it, with the next two
  std::int64_t temporal_factor = 1;
  bool first = false;
  FramesView y;

  [[nodiscard]] geometry::DuplicateUpsample sizes() const;  // of shortcut and y
};
// Where a norm is given, also causal_rms_norm of y with SiLU.
void enlarge(const Context& context, const EnlargeWeights& weights, const Enlargement& enlargement,
             const NormedFrames& normed = {});
// Whether the norm is made with y. Where not, it is better made when there is memory again. The
// number of frames does not matter.
bool enlarge_fuses(const Context& context, const EnlargeWeights& weights,
                   const Enlargement& enlargement);

}  // namespace pantograph::ops
