#include "ops/conv3d/engine_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/check.h"
#include "device/timing.h"
#include "kernels/wan_vae/compare.h"
#include "kernels/wan_vae/launch.h"
#include "ops/conv3d/cuda_direct.h"

namespace pantograph::ops::cudnn {
namespace {

constexpr int kLeastRuns = 3;
constexpr double kMostRuns = 1000;
constexpr std::int64_t kWindow = 256;  // positions compared at the front, the middle and the end

}  // namespace

Trial::Trial(const Conv3dProblem& problem, const CudaWeights& weights, const Scratch& scratch)
    : problem_(problem), weights_(weights), stream_(static_cast<cudaStream_t>(scratch.stream)) {
  const std::int64_t plane = problem.height * problem.width;
  x_elements_ = (problem.frames + problem.kernel.time - 1) * plane * problem.in_channels;
  positions_ = problem.frames * plane;
  Arena arena;
  arena.bind(scratch.data, scratch.bytes);
  const auto take = [&](std::int64_t elements) {
    return arena.take(static_cast<std::size_t>(elements) * size_of(problem.dtype));
  };
  const Arena::Block x = take(x_elements_), y = take(positions_ * problem.out_channels);
  const Arena::Block workspace = arena.take(kWorkspaceLimit);
  pointers_ = {.x = x.data(),
               .weights = weights.weights.data(),
               .bias = weights.bias.data(),
               .y = y.data(),
               .workspace = workspace.data()};
  device::check(kernels::fill_random(problem.dtype, x.data(), x_elements_, 1, stream_));
}

double Trial::milliseconds(const Engine& engine, double window) const {
  run(engine);  // warms up
  const auto time = [&](int runs) {
    return device::time_each(runs, stream_, [&] { run(engine); });
  };
  std::vector<double> times = time(kLeastRuns);
  const double runs = window / times.back();
  if (runs > kLeastRuns) times = time(static_cast<int>(std::min(runs, kMostRuns)));
  const auto steady = times.begin() + std::ssize(times) / 2;
  std::sort(steady, times.end());
  return steady[(times.end() - steady - 1) / 2];
}

double Trial::error(const Engine& engine) const {
  const std::int64_t elements = positions_ * problem_.out_channels;
  if (problem_.accumulate) {
    device::check(kernels::fill_random(problem_.dtype, pointers_.y, elements, 2, stream_));
  } else {
    const auto bytes = static_cast<std::size_t>(elements) * size_of(problem_.dtype);
    device::check(cudaMemsetAsync(pointers_.y, 0xff, bytes, stream_));  // NaN
  }
  const std::int64_t count = std::min(kWindow, positions_);
  const std::vector<std::int64_t> windows = {0, (positions_ - count) / 2, positions_ - count};
  const std::size_t bytes = window_bytes(count);
  const Device device = weights_.device;
  const device::Memory expected(device, windows.size() * bytes, {}, stream_);
  const device::Memory sums(device, sizeof(kernels::Difference), {}, stream_);
  const device::Memory zero_bias(device, weights_.bias.bytes(), {}, stream_);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    device::copy(expected.data() + i * bytes, result(windows[i]), bytes, stream_);
  }
  engine.plan.run(pointers_, stream_);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    kernels::Conv3dDirect direct = describe_direct(problem_);
    direct.first_position = windows[i];
    direct.positions = count;
    direct.x = pointers_.x;
    direct.weights = pointers_.weights;
    direct.bias =
        reinterpret_cast<const float*>(engine.fused ? weights_.bias.data() : zero_bias.data());
    // The kernel counts positions from the front of y, of which only the window is there.
    direct.y = expected.data() + i * bytes - window_bytes(windows[i]);
    device::check(kernels::conv3d_direct(direct, stream_));
    device::check(kernels::compare(problem_.dtype, result(windows[i]), expected.data() + i * bytes,
                                   count * problem_.out_channels,
                                   reinterpret_cast<kernels::Difference*>(sums.data()), stream_));
  }
  kernels::Difference difference;
  device::copy(&difference, sums.data(), sizeof difference, stream_);
  device::synchronize(stream_);
  if (difference.not_finite > 0) return std::numeric_limits<double>::infinity();
  if (difference.squared == 0) return 0;
  return std::sqrt(difference.squared / difference.reference_squared);
}

void Trial::run(const Engine& engine) const {
  engine.plan.run(pointers_, stream_);
  if (engine.fused) return;
  device::check(kernels::bias_residual({.dtype = problem_.dtype,
                                        .rows = positions_,
                                        .channels = problem_.out_channels,
                                        .x_channels = problem_.out_channels,
                                        .x = pointers_.y,
                                        .bias = static_cast<const float*>(pointers_.bias),
                                        .y = pointers_.y},
                                       stream_));
}

std::size_t Trial::window_bytes(std::int64_t positions) const {
  return static_cast<std::size_t>(positions * problem_.out_channels) * size_of(problem_.dtype);
}

std::byte* Trial::result(std::int64_t position) const {
  return static_cast<std::byte*>(pointers_.y) + window_bytes(position);
}

}  // namespace pantograph::ops::cudnn
