#include "ops/conv3d/conv3d.h"

#include <algorithm>

#include "core/log.h"
#include "device/runtime.h"
#include "ops/copy/copy.h"
#include "ops/rms_norm/rms_norm.h"

namespace pantograph::ops {

Conv3dWeights::Conv3dWeights(Weight weight, const Weight& bias)
    : weight_(std::move(weight)), bias_(bias.to_f32()) {
  const std::size_t rank = weight_.shape().size();
  require((rank == 4 || rank == 5) && bias.elements() == out_channels(),
          "a convolution needs weights [out, in, (kt,) kh, kw] and a bias [out]");
}

KernelSize Conv3dWeights::kernel() const {
  const auto shape = weight_.shape();
  const auto space = shape.last(2);
  return {shape.size() == 5 ? shape[2] : 1, space[0], space[1]};
}

std::shared_ptr<PackedWeights> Conv3dWeights::packed(
    const std::function<bool(const PackedWeights&)>& accepts,
    const std::function<std::shared_ptr<PackedWeights>()>& make) const {
  const std::lock_guard lock(packs_->mutex);
  for (const auto& candidate : packs_->copies) {
    if (accepts(*candidate)) return candidate;
  }
  packs_->copies.push_back(make());
  return packs_->copies.back();
}

bool Conv3dWeights::has_packed(const std::function<bool(const PackedWeights&)>& accepts) const {
  const std::lock_guard lock(packs_->mutex);
  return std::any_of(packs_->copies.begin(), packs_->copies.end(),
                     [&](const auto& candidate) { return accepts(*candidate); });
}

void Conv3dWeights::drop_unused() const {
  const std::lock_guard lock(packs_->mutex);
  std::erase_if(packs_->copies, [](const auto& copy) { return copy.use_count() == 1; });
}

double Conv3dWeights::kept(const std::string& name, const std::function<double()>& compute) const {
  const std::lock_guard lock(packs_->mutex);
  const auto known = packs_->numbers.find(name);
  if (known != packs_->numbers.end()) return known->second;
  return packs_->numbers[name] = compute();
}

namespace {

[[noreturn]] void refuse_to_be_slow(const Conv3dProblem& problem, const Device& device,
                                    const std::string& reason) {
  const std::string where =
      device.kind == DeviceKind::kCpu
          ? "the CPU"
          : join("GPU ", device.index, " (", device::require_gpu(device.index).name, ")");
  fail(ErrorKind::kUnsupported, "no fast convolution for ", problem.in_channels, " -> ",
       problem.out_channels, " channels in ", to_string(problem.dtype), " on ", where, " (", reason,
       "); choose the algorithm auto or general");
}

}  // namespace

Conv3dPlan& PlanCache::conv3d(const Conv3dWeights& weights, const Conv3dProblem& problem,
                              const Device& device, Algorithm algorithm) {
  auto& plan = conv3d_[{&weights, problem}];
  if (plan) return *plan;
  std::optional<std::string> not_fast;  // why the first fast one refused
  std::optional<std::string> refusal;   // the last one
  for (const Conv3dImplementation* implementation : conv3d_implementations()) {
    const bool fast = implementation->fast();
    if (fast && algorithm == Algorithm::kGeneral) continue;
    auto reason = implementation->refuses(problem, device);
    if (!reason) reason = implementation->refuses_weights(problem, weights);
    if (fast && reason && !not_fast) not_fast = reason;
    if (!reason) {
      if (algorithm == Algorithm::kFast && weights.costly() && !fast) {
        refuse_to_be_slow(problem, device, not_fast.value_or("this build has no GPU code"));
      }
      plan = implementation->plan(problem, weights);
      if (weights.costly()) {
        costly_by_.insert(implementation->name());
        if (implementation->slow(problem)) slow_because_ = refusal;
      }
      unprepared_.push_back(plan.get());
      return *plan;
    }
    log(LogLevel::kDebug, "conv3d: ", implementation->name(), " refuses ", problem.in_channels,
        " -> ", problem.out_channels, " on ", problem.frames, " x ", problem.height, " x ",
        problem.width, ": ", *reason);
    refusal = std::move(reason);
  }
  fail(ErrorKind::kUnsupported, "no implementation of conv3d for ", problem.in_channels, " -> ",
       problem.out_channels, " channels on this device");
}

Plan* PlanCache::other(const Conv3dWeights& weights, const Conv3dProblem& problem,
                       const std::function<std::unique_ptr<Plan>()>& make) {
  const auto [entry, added] = others_.try_emplace({&weights, problem});
  if (added) {
    entry->second = make();
    if (entry->second) unprepared_.push_back(entry->second.get());
  }
  return entry->second.get();
}

std::size_t PlanCache::sum_over_weights(BytesOf bytes_of) const {
  std::size_t bytes = 0, largest = 0;
  const Conv3dWeights* last = nullptr;
  for (const auto& [key, plan] : conv3d_) {  // those of one convolution together
    if (key.first != last) {
      bytes += std::exchange(largest, 0);
      last = key.first;
    }
    largest = std::max(largest, (plan.get()->*bytes_of)());  // they nearly always share a copy
  }
  for (const auto& [key, plan] : others_) bytes += plan ? (plan.get()->*bytes_of)() : 0;
  return bytes + largest;
}

std::size_t PlanCache::bytes_to_pack() const {
  return sum_over_weights(&Conv3dPlan::bytes_to_pack);
}

std::size_t PlanCache::weight_bytes() const {
  return sum_over_weights(&Conv3dPlan::weight_bytes);
}

void PlanCache::drop_other_weights() {
  for (Plan* plan : unprepared_) {
    if (plan->bytes_to_pack() == 0) plan->load_weights();  // which takes hold of them
  }
  for (const auto& [key, plan] : conv3d_) key.first->drop_unused();
  for (const auto& [key, plan] : others_) key.first->drop_unused();
}

void PlanCache::load_weights() {
  for (Plan* plan : unprepared_) plan->load_weights();
}

void PlanCache::prepare(const Scratch& scratch) {
  while (!unprepared_.empty()) {
    const auto later = std::stable_partition(unprepared_.begin(), unprepared_.end(),
                                             [](Plan* plan) { return plan->begin(); });
    const auto end = later == unprepared_.begin() ? unprepared_.end() : later;
    // What is timed while it is prepared should have the machine to itself.
    std::for_each(unprepared_.begin(), end, [](Plan* plan) { plan->wait(); });
    std::for_each(unprepared_.begin(), end, [&](Plan* plan) { plan->prepare(scratch); });
    unprepared_.erase(unprepared_.begin(), end);
  }
}

namespace {

Conv3dPlan& find_plan(const Context& context, const Conv3dWeights& weights, const FramesView& x,
                      const FramesView& y, bool accumulate, const KernelShift& shift) {
  const KernelSize kernel = weights.kernel();
  require(x.frames == y.frames + kernel.time - 1 && x.height == y.height && x.width == y.width &&
              x.channels == weights.in_channels() && y.channels == weights.out_channels(),
          "conv3d: x [", x.frames, ", ", x.height, ", ", x.width, ", ", x.channels,
          "] does not lead to y [", y.frames, ", ", y.height, ", ", y.width, ", ", y.channels, "]");
  const Conv3dProblem problem{.frames = y.frames,
                              .height = y.height,
                              .width = y.width,
                              .in_channels = x.channels,
                              .out_channels = y.channels,
                              .kernel = kernel,
                              .accumulate = accumulate,
                              .dtype = y.dtype,
                              .shift = shift,
                              .thrift = context.thrift};
  return context.plans->conv3d(weights, problem, context.device, context.algorithm);
}

Arena::Block take_workspace(const Context& context, const Conv3dPlan& plan) {
  return plan.workspace_bytes() > 0 ? context.arena->take(plan.workspace_bytes()) : Arena::Block();
}

}  // namespace

void conv3d(const Context& context, const Conv3dWeights& weights, const FramesView& x,
            const FramesView& y, const FramesView* residual, const KernelShift& shift) {
  if (y.frames == 0) return;
  const Conv3dPlan& plan = find_plan(context, weights, x, y, residual != nullptr, shift);
  const Arena::Block workspace = take_workspace(context, plan);
  if (context.planning) return;
  context.stop_if_cancelled();
  if (plan.fuses()) {
    plan.run_fused({.x = x,
                    .y = &y,
                    .residual = residual,
                    .normed = {},
                    .workspace = workspace.data(),
                    .stream = context.stream});
    return;
  }
  if (residual != nullptr && residual->data != y.data) copy_frames(context, *residual, y);
  plan.run(x, y, workspace.data(), context.stream);
}

Frames conv3d_normed(const Context& context, const Conv3dWeights& weights, Frames x,
                     const FramesView* y, const FramesView* residual, const Parameter& gamma,
                     const FramesView& history) {
  const std::int64_t lead = weights.kernel().time - 1;
  const FramesView input = x->slice(-lead, x->frames + lead);
  FramesView output = x.view();
  output.channels = weights.out_channels();
  const auto room = [&](std::int64_t frames_in_front) {
    return Frames(*context.arena, output.dtype, output.frames, output.height, output.width,
                  output.channels, frames_in_front);
  };
  const Conv3dPlan& plan =
      find_plan(context, weights, input, output, residual != nullptr, KernelShift{});
  if (!plan.fuses()) {
    Frames own;
    if (y == nullptr) own = room(0);
    const FramesView& raw = y == nullptr ? own.view() : *y;
    conv3d(context, weights, input, raw, residual);
    x.release();
    Frames normed = room(history.frames);
    causal_rms_norm(context, raw, gamma, Activation::kSilu, normed.view(), history);
    return normed;
  }
  Frames normed = room(history.frames);
  const Arena::Block workspace = take_workspace(context, plan);
  if (context.planning) return normed;
  context.stop_if_cancelled();
  plan.run_fused({.x = input,
                  .y = y,
                  .residual = residual,
                  .normed = {.gamma = &gamma, .y = normed.view(), .history = history},
                  .workspace = workspace.data(),
                  .stream = context.stream});
  return normed;
}

}  // namespace pantograph::ops
