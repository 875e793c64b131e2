// Causal 3-D convolution, stride 1: y = conv(x) + bias (+ residual).
//
// x [T + kt - 1, H, W, in]: the kt - 1 frames before the first output frame stand in front of it.
// y [T, H, W, out]. Space is padded with kh / 2 rows and kw / 2 columns of zeros on each side.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/frames.h"
#include "ops/context.h"
#include "weights/parameter.h"
#include "weights/weight.h"

namespace pantograph::ops {

struct KernelSize {
  std::int64_t time = 1, height = 1, width = 1;
  auto operator<=>(const KernelSize&) const = default;
};

// How much further down and right of its place an even kernel looks: padded with kh / 2 - rows rows
// of zeros above, and with what is left of kh - 1 below.
struct KernelShift {
  std::int64_t rows = 0, columns = 0;
  auto operator<=>(const KernelShift&) const = default;
};

struct Conv3dProblem {
  std::int64_t frames = 0, height = 0, width = 0;  // of y
  std::int64_t in_channels = 0, out_channels = 0;
  KernelSize kernel;
  bool accumulate = false;    // y holds the residual before and the sum after
  DType dtype = DType::kF32;  // of x and y
  KernelShift shift{};
  Thrift thrift = Thrift::kNone;
  auto operator<=>(const Conv3dProblem&) const = default;
};

// Weights in the layout that one implementation wants them in; each derives its own.
class PackedWeights {
 public:
  PackedWeights() = default;
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;
  virtual ~PackedWeights() = default;
};

// One convolution's weights [out, in, kt, kh, kw] (or [out, in, kh, kw], kt = 1) and bias [out],
// with the packed copies made of them. Shared by all sessions; for several threads at a time.
class Conv3dWeights {
 public:
  Conv3dWeights(Weight weight, const Weight& bias);

  // A bound on the norm of the input's channels at any position, where one is known.
  void set_input_norm(double norm) { input_norm_ = norm; }
  [[nodiscard]] std::optional<double> input_norm() const { return input_norm_; }
  // Takes so much of a model's time that Algorithm::kFast insists on a fast implementation.
  void set_costly() { costly_ = true; }
  [[nodiscard]] bool costly() const { return costly_; }

  [[nodiscard]] std::int64_t in_channels() const { return weight_.shape()[1]; }
  [[nodiscard]] std::int64_t out_channels() const { return weight_.shape()[0]; }
  [[nodiscard]] KernelSize kernel() const;
  [[nodiscard]] const std::vector<float>& bias() const { return bias_; }
  [[nodiscard]] const Weight& weight() const { return weight_; }

  // The first packed copy that `accepts`, or a new one from `make`, kept for the others.
  std::shared_ptr<PackedWeights> packed(
      const std::function<bool(const PackedWeights&)>& accepts,
      const std::function<std::shared_ptr<PackedWeights>()>& make) const;

  // Whether there is such a copy.
  [[nodiscard]] bool has_packed(const std::function<bool(const PackedWeights&)>& accepts) const;
  // Gives back the copies that no plan holds.
  void drop_unused() const;

  // A number that takes all weights to compute: computed at the first call for that name, and kept.
  double kept(const std::string& name, const std::function<double()>& compute) const;

 private:
  Weight weight_;
  std::vector<float> bias_;
  std::optional<double> input_norm_;
  bool costly_ = false;
  struct Packs {
    std::mutex mutex;
    std::vector<std::shared_ptr<PackedWeights>> copies;
    std::map<std::string, double> numbers;
  };
  std::unique_ptr<Packs> packs_ = std::make_unique<Packs>();
};

// Memory on the device that nobody else uses while plans are prepared.
struct Scratch {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  void* stream = nullptr;
};

// What a layer that begins with RMS norm and SiLU reads of y, history in front: see
// causal_rms_norm.
struct NormedFrames {
  const Parameter* gamma = nullptr;  // nullptr: nothing
  FramesView y;
  FramesView history;
};

// What is made ready for an operation once, to run as often as wanted.
class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  virtual ~Plan() = default;
  // Brings the weights to where they are used; where prepare() would do it anyway, nothing.
  virtual void load_weights() {}
  // Starts in another thread what prepare() needs. False where the plan is better prepared after
  // others that have begun.
  virtual bool begin() { return true; }
  // Until what begin() started is done.
  virtual void wait() {}
  // Of the packed weights, prepared or not; several plans may share them.
  [[nodiscard]] virtual std::size_t weight_bytes() const { return 0; }
  // Of them, what prepare() will take, for nobody has packed them yet.
  [[nodiscard]] virtual std::size_t bytes_to_pack() const { return 0; }
  // Packs the weights and whatever else is done once. `scratch` has room for x, y and the
  // workspace, or is empty on a CPU.
  virtual void prepare(const Scratch& scratch) = 0;
};

// A convolution of one shape.
class Conv3dPlan : public Plan {
 public:
  [[nodiscard]] virtual std::size_t workspace_bytes() const { return 0; }
  virtual void run(const FramesView& x, const FramesView& y, std::byte* workspace,
                   void* stream) const = 0;

  // Whether run_fused() is there.
  [[nodiscard]] virtual bool fuses() const { return false; }
  struct Fused {
    FramesView x;
    const FramesView* y = nullptr;         // may be left out where there is a norm
    const FramesView* residual = nullptr;  // may be y
    NormedFrames normed;
    std::byte* workspace = nullptr;
    void* stream = nullptr;
  };
  virtual void run_fused(const Fused& /*run*/) const { require(false, "nothing is fused"); }
};

class Conv3dImplementation {
 public:
  virtual ~Conv3dImplementation() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Whether Algorithm::kFast means it, and Algorithm::kGeneral goes without.
  [[nodiscard]] virtual bool fast() const { return false; }
  // Whether it computes the problem much more slowly than the device could.
  [[nodiscard]] virtual bool slow(const Conv3dProblem& /*problem*/) const { return false; }
  // Why this implementation cannot do the problem; nothing where it can.
  [[nodiscard]] virtual std::optional<std::string> refuses(const Conv3dProblem& problem,
                                                           const Device& device) const = 0;
  // The same of the weights, where it is their values that matter.
  [[nodiscard]] virtual std::optional<std::string> refuses_weights(
      const Conv3dProblem& /*problem*/, const Conv3dWeights& /*weights*/) const {
    return std::nullopt;
  }
  // `weights` outlives the plan.
  [[nodiscard]] virtual std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                         const Conv3dWeights& weights) const = 0;
};

const Conv3dImplementation& reference_conv3d();
// Fastest first.
std::span<const Conv3dImplementation* const> conv3d_implementations();

// One session's plans, made at the first use of a shape. Not for several threads at a time.
class PlanCache {
 public:
  Conv3dPlan& conv3d(const Conv3dWeights& weights, const Conv3dProblem& problem,
                     const Device& device, Algorithm algorithm = Algorithm::kAuto);
  // Names of the implementations that compute the costly convolutions.
  [[nodiscard]] const std::set<std::string>& costly_by() const { return costly_by_; }
  // Why one of them computes its convolution slowly; nothing where none does.
  [[nodiscard]] const std::optional<std::string>& slow_because() const { return slow_because_; }
  // Another op's plan around a convolution: what `make` makes at the first call, nullptr too.
  Plan* other(const Conv3dWeights& weights, const Conv3dProblem& problem,
              const std::function<std::unique_ptr<Plan>()>& make);
  // Of all plans made so far.
  [[nodiscard]] std::size_t bytes_to_pack() const;
  [[nodiscard]] std::size_t weight_bytes() const;
  // Where memory is short, before load_weights(): gives back what others packed of the same
  // weights, unless one of the plans made so far wants it or another session's holds it.
  void drop_other_weights();
  // Every plan made so far that is not prepared yet.
  void load_weights();
  void prepare(const Scratch& scratch = {});

 private:
  using Key = std::pair<const Conv3dWeights*, Conv3dProblem>;
  using BytesOf = std::size_t (Plan::*)() const;
  [[nodiscard]] std::size_t sum_over_weights(BytesOf bytes_of) const;
  std::map<Key, std::unique_ptr<Conv3dPlan>> conv3d_;
  std::map<Key, std::unique_ptr<Plan>> others_;
  std::vector<Plan*> unprepared_;
  std::set<std::string> costly_by_;
  std::optional<std::string> slow_because_;
};

// The op. `residual`, of y's shape, is added where given; it may be y itself.
void conv3d(const Context& context, const Conv3dWeights& weights, const FramesView& x,
            const FramesView& y, const FramesView* residual = nullptr,
            const KernelShift& shift = {});

// The same, followed by causal_rms_norm with SiLU: returns the normed frames, with the frames of
// `history` in front of them. x has room in front that holds its own history, and is given back as
// soon as it has been read. y may be nullptr where nobody else reads it.
Frames conv3d_normed(const Context& context, const Conv3dWeights& weights, Frames x,
                     const FramesView* y, const FramesView* residual, const Parameter& gamma,
                     const FramesView& history);

}  // namespace pantograph::ops
