// Enlargement by fewer products on Hopper: transformed weights, and the steps of a run.
#include <cuda_runtime_api.h>

#include "core/log.h"
#include "device/check.h"
#include "kernels/hopper/component_gemm.h"
#include "kernels/winograd/upsample.h"
#include "ops/conv3d/cuda.h"
#include "ops/cuda.h"
#include "ops/enlarge/winograd_plan.h"

namespace pantograph::ops::cuda {
namespace {

constexpr double kLargestF16 = 65504;
constexpr geometry::WinogradUpsample kWay = geometry::kWinogradUpsample;

struct EnlargePack final : GpuPack {
  device::Memory weights, bias;  // [25][out][in] in f16, [out] in f32
};

std::size_t transformed_bytes(const Conv3dWeights& whole) {
  return static_cast<std::size_t>(whole.weight().elements() / 9 * kernels::kUpsampleProducts) * 2;
}

void transform(const Conv3dWeights& whole, EnlargePack& pack) {
  const StoredOnGpu untransformed = stored_on_gpu(pack.device, whole.weight());
  pack.weights = device::Memory(pack.device, transformed_bytes(whole));
  pack.bias = on_gpu(pack.device, whole.bias());
  device::check(kernels::upsample_weights({.out_channels = whole.out_channels(),
                                           .in_channels = whole.in_channels(),
                                           .dtype = untransformed.dtype,
                                           .w = untransformed.values.data(),
                                           .u = pack.weights.data()},
                                          nullptr));
}

// For all sizes: only the weights want making ready.
class EnlargePlan final : public Plan {
 public:
  explicit EnlargePlan(const Conv3dWeights& whole)
      : whole_(whole), gain_(static_cast<float>(winograd_enlarge_bounds(whole).gain)) {}

  [[nodiscard]] std::size_t weight_bytes() const override {
    return transformed_bytes(whole_) + whole_.bias().size() * sizeof(float);
  }
  [[nodiscard]] std::size_t bytes_to_pack() const override {
    return is_packed_on_gpu<EnlargePack>(whole_, kAnyPack) ? 0 : weight_bytes();
  }
  void load_weights() override {
    pack_ = packed_on_gpu<EnlargePack>(whole_, kAnyPack,
                                       [&](EnlargePack& pack) { transform(whole_, pack); });
  }
  void prepare(const Scratch& /*scratch*/) override { load_weights(); }

  [[nodiscard]] const EnlargePack& pack() const { return *pack_; }
  [[nodiscard]] float gain() const { return gain_; }

 private:
  const Conv3dWeights& whole_;
  float gain_ = 1;
  std::shared_ptr<const EnlargePack> pack_;
};

std::optional<std::string> refuse(const Context& context, const Conv3dWeights& whole) {
  if (device::compute_capability(context.device.index) != 90) return "runs on Hopper only";
  const double bound = winograd_enlarge_bounds(whole).weight;
  if (bound <= kLargestF16) return std::nullopt;
  return join("weights up to ", bound, " would overflow f16");
}

// nullptr where there is none.
EnlargePlan* find_plan(const Context& context, const EnlargeWeights& weights) {
  const Conv3dWeights& whole = weights.whole();
  const Conv3dProblem of_any_size{.in_channels = whole.in_channels(),
                                  .out_channels = whole.out_channels(),
                                  .kernel = whole.kernel(),
                                  .dtype = DType::kBF16};
  return static_cast<EnlargePlan*>(
      context.plans->other(whole, of_any_size, [&]() -> std::unique_ptr<Plan> {
        const auto reason = refuse(context, whole);
        if (!reason) return std::make_unique<EnlargePlan>(whole);
        log(LogLevel::kDebug, "enlarge: winograd refuses ", whole.in_channels(),
            " channels: ", *reason);
        return nullptr;
      }));
}

// One product of matrices for each of 25 components, 16 of them of x.
kernels::ComponentGemm products_of(std::int64_t rows, std::int64_t channels) {
  kernels::ComponentGemm gemm{.dtype = DType::kF16,
                              .components = kernels::kUpsampleProducts,
                              .a_components = kWay.kInputs * kWay.kInputs,
                              .rows = rows,
                              .a_rows = rows,
                              .in_channels = channels,
                              .out_channels = channels};
  for (std::size_t i = 0; i < kWay.kProducts; ++i) {
    for (std::size_t j = 0; j < kWay.kProducts; ++j) {
      gemm.a_of[i * kWay.kProducts + j] =
          static_cast<std::uint8_t>(kWay.input_of[i] * kWay.kInputs + kWay.input_of[j]);
    }
  }
  return gemm;
}

// What a run works with between the kernels.
struct Workspace {
  Workspace(const geometry::DuplicateUpsample& sizes, std::size_t limit)
      : parts(winograd_enlarge_parts(sizes, limit)) {
    std::size_t input_bytes = 0, product_bytes = 0;
    for (const geometry::WinogradTiles& tiles : parts) {
      input_bytes = std::max(input_bytes, winograd_enlarge_input_bytes(sizes, tiles));
      product_bytes = std::max(product_bytes, winograd_enlarge_product_bytes(sizes, tiles));
    }
    input_at = Arena::aligned(sizeof(float));
    products_at = input_at + Arena::aligned(input_bytes);
    bytes = products_at + product_bytes;
  }
  std::vector<geometry::WinogradTiles> parts;
  std::size_t input_at = 0, products_at = 0, bytes = 0;  // the largest |x| stands in front
};

}  // namespace

bool enlarge_fuses(const Context& context, const EnlargeWeights& weights, const Enlargement& p) {
  auto reason = refuse_winograd_enlarge(p.sizes());
  if (p.y.dtype != DType::kBF16) reason = "bf16 only";
  if (!reason) return find_plan(context, weights) != nullptr;
  if (context.planning) {
    log(LogLevel::kDebug, "enlarge: winograd refuses ", p.y.channels, " channels: ", *reason);
  }
  return false;
}

void enlarge_fused(const Context& context, const EnlargeWeights& weights, const Enlargement& p,
                   const NormedFrames& normed, std::size_t workspace_limit) {
  const geometry::DuplicateUpsample sizes = p.sizes();
  const Workspace layout(sizes, workspace_limit);
  const Arena::Block workspace = context.arena->take(layout.bytes);
  if (context.planning) return;
  context.stop_if_cancelled();
  const EnlargePlan& plan = *find_plan(context, weights);
  auto* stream = static_cast<cudaStream_t>(context.stream);
  auto* largest = reinterpret_cast<float*>(workspace.data());
  std::byte* input = workspace.data() + layout.input_at;
  std::byte* products = workspace.data() + layout.products_at;
  const kernels::F16Range range{.largest = largest, .gain = plan.gain()};
  kernels::WinogradNorm norm;
  if (normed.gamma != nullptr) {
    norm = {.gamma = normed.gamma->on(plan.pack().device),
            .y = normed.y.data,
            .history = normed.history.data,
            .history_frames = normed.history.frames};
  }
  device::check(cudaMemsetAsync(largest, 0, sizeof(float), stream));
  device::check(
      kernels::find_largest(p.x.data, p.x.frames * p.x.frame_elements(), largest, stream));
  for (const geometry::WinogradTiles& tiles : layout.parts) {
    device::check(kernels::upsample_input({.tiles = tiles,
                                           .frames = p.y.frames,
                                           .channels = p.y.channels,
                                           .copies = p.x.channels / p.y.channels,
                                           .x = p.x.data,
                                           .range = range,
                                           .v = input},
                                          stream));
    kernels::ComponentGemm gemm = products_of(p.y.frames * tiles.per_frame(), p.y.channels);
    gemm.a = input;
    gemm.b = plan.pack().weights.data();
    gemm.y = products;
    device::check(kernels::component_gemm(gemm, stream));
    device::check(
        kernels::upsample_output({.tiles = tiles,
                                  .duplicate = sizes,
                                  .m = products,
                                  .bias = reinterpret_cast<const float*>(plan.pack().bias.data()),
                                  .shortcut = p.shortcut.data,
                                  .range = range,
                                  .y = p.y.data,
                                  .norm = norm},
                                 stream));
  }
}

}  // namespace pantograph::ops::cuda
