// Convolutions in two steps, of which one is a convolution too, with weights derived from the
// whole's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ops/conv3d/conv3d.h"

namespace pantograph::ops {

inline constexpr std::int64_t kTapsInSpace = 9;

// Why a problem is none for two steps, whichever they are; nothing where it is one.
inline std::optional<std::string> refuse_two_steps(const Conv3dProblem& p) {
  if (p.kernel.height != 3 || p.kernel.width != 3) return "3 x 3 in space only";
  if (p.accumulate || p.shift != KernelShift{}) return "no residual and no shifts";
  return std::nullopt;
}

using DeriveWeights = Conv3dWeights (*)(const Conv3dWeights&);

struct DerivedWeights final : PackedWeights {
  DerivedWeights(const Conv3dWeights& whole, DeriveWeights how)
      : derive(how), weights(how(whole)) {}
  DeriveWeights derive;
  Conv3dWeights weights;
};

// Derived once.
inline std::shared_ptr<const DerivedWeights> derived_weights(const Conv3dWeights& weights,
                                                             DeriveWeights derive) {
  return std::static_pointer_cast<const DerivedWeights>(weights.packed(
      [=](const PackedWeights& candidate) {
        const auto* derived = dynamic_cast<const DerivedWeights*>(&candidate);
        return derived != nullptr && derived->derive == derive;
      },
      [&] { return std::make_shared<DerivedWeights>(weights, derive); }));
}

// What the plans have in common. The workspace is the step's, and behind it what goes from the one
// step to the other.
class TwoStepPlan : public Conv3dPlan {
 public:
  TwoStepPlan(const Conv3dImplementation& implementation, const Conv3dProblem& step,
              std::shared_ptr<const DerivedWeights> weights, const FramesView& between)
      : between_(between),
        weights_(std::move(weights)),
        step_(implementation.plan(step, weights_->weights)) {}

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return between_at() + between_.bytes();
  }
  [[nodiscard]] std::size_t weight_bytes() const override { return step_->weight_bytes(); }
  [[nodiscard]] std::size_t bytes_to_pack() const override { return step_->bytes_to_pack(); }
  void load_weights() override { step_->load_weights(); }
  bool begin() override { return step_->begin(); }
  void wait() override { step_->wait(); }
  void prepare(const Scratch& scratch) override { step_->prepare(scratch); }

 protected:
  [[nodiscard]] const Conv3dPlan& step() const { return *step_; }
  [[nodiscard]] FramesView between(std::byte* workspace) const {
    FramesView view = between_;
    view.data = workspace + between_at();
    return view;
  }

 private:
  [[nodiscard]] std::size_t between_at() const { return Arena::aligned(step_->workspace_bytes()); }

  FramesView between_;
  std::shared_ptr<const DerivedWeights> weights_;
  std::unique_ptr<Conv3dPlan> step_;
};

}  // namespace pantograph::ops
