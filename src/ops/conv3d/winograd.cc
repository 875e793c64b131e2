// 3 x 3 convolutions by Winograd's way on Hopper: transformed weights, and the three steps of a
// run.
#include "ops/conv3d/winograd_plan.h"

#include <cuda_runtime_api.h>

#include "device/check.h"
#include "kernels/hopper/component_gemm.h"
#include "kernels/winograd/winograd.h"
#include "ops/conv3d/cuda.h"

namespace pantograph::ops {
namespace {

// Beyond it, working on all of a frame's tiles at a time brings little.
constexpr std::size_t kWorkspace = std::size_t{3} << 29;  // 1.5 GiB

struct WinogradPack final : GpuPack {
  std::int64_t tile_size = 0;
  device::Memory weights, bias;  // [components][out][taps][in] in f16, [out] in f32
};

std::size_t transformed_bytes(const Conv3dWeights& weights, std::int64_t tile_size) {
  return static_cast<std::size_t>(weights.weight().elements() / 9 *
                                  geometry::WinogradTiles{.size = tile_size}.components()) *
         2;
}

void transform(const Conv3dWeights& weights, std::int64_t tile_size, WinogradPack& pack) {
  pack.tile_size = tile_size;
  const StoredOnGpu untransformed = stored_on_gpu(pack.device, weights.weight());
  pack.weights = device::Memory(pack.device, transformed_bytes(weights, tile_size));
  pack.bias = on_gpu(pack.device, weights.bias());
  device::check(kernels::winograd_weights({.tile_size = tile_size,
                                           .out_channels = weights.out_channels(),
                                           .in_channels = weights.in_channels(),
                                           .taps = weights.kernel().time,
                                           .dtype = untransformed.dtype,
                                           .w = untransformed.values.data(),
                                           .u = pack.weights.data()},
                                          nullptr));
}

auto has_tiles_of(std::int64_t size) {
  return [=](const WinogradPack& pack) { return pack.tile_size == size; };
}

class WinogradPlan final : public Conv3dPlan {
 public:
  WinogradPlan(const Conv3dProblem& problem, const Conv3dWeights& weights)
      : problem_(problem),
        weights_(weights),
        tile_size_(choose_winograd(problem).tile_size),
        parts_(winograd_parts(problem, tile_size_, thrifty(kWorkspace, problem.thrift))) {
    for (const geometry::WinogradTiles& tiles : parts_) {
      input_bytes_ = std::max(input_bytes_, winograd_input_bytes(problem, tiles));
      product_bytes_ = std::max(product_bytes_, winograd_product_bytes(problem, tiles));
    }
    input_bytes_ = Arena::aligned(input_bytes_);
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return input_bytes_ + product_bytes_;
  }
  [[nodiscard]] std::size_t weight_bytes() const override {
    return transformed_bytes(weights_, tile_size_) + weights_.bias().size() * sizeof(float);
  }

  [[nodiscard]] std::size_t bytes_to_pack() const override {
    return is_packed_on_gpu<WinogradPack>(weights_, has_tiles_of(tile_size_)) ? 0 : weight_bytes();
  }

  void load_weights() override {
    pack_ = packed_on_gpu<WinogradPack>(
        weights_, has_tiles_of(tile_size_),
        [&](WinogradPack& pack) { transform(weights_, tile_size_, pack); });
  }
  void prepare(const Scratch& /*scratch*/) override { load_weights(); }

  void run(const FramesView& x, const FramesView& y, std::byte* workspace,
           void* stream) const override {
    run_fused({.x = x,
               .y = &y,
               .residual = problem_.accumulate ? &y : nullptr,
               .normed = {},
               .workspace = workspace,
               .stream = stream});
  }

  [[nodiscard]] bool fuses() const override { return true; }
  void run_fused(const Fused& run) const override {
    auto* stream = static_cast<cudaStream_t>(run.stream);
    for (const geometry::WinogradTiles& tiles : parts_) {
      std::byte* products = run.workspace + input_bytes_;
      device::check(kernels::winograd_input({.tiles = tiles,
                                             .frames = run.x.frames,
                                             .channels = problem_.in_channels,
                                             .x = run.x.data,
                                             .v = run.workspace},
                                            stream));
      device::check(kernels::component_gemm(gemm(tiles, run.workspace, products), stream));
      device::check(kernels::winograd_output(output(tiles, products, run), stream));
    }
  }

 private:
  [[nodiscard]] kernels::ComponentGemm gemm(const geometry::WinogradTiles& tiles,
                                            const std::byte* input, std::byte* products) const {
    kernels::ComponentGemm gemm{
        .dtype = DType::kF16,
        .components = tiles.components(),
        .a_components = tiles.components(),
        .rows = problem_.frames * tiles.per_frame(),
        .a_rows = (problem_.frames + problem_.kernel.time - 1) * tiles.per_frame(),
        .in_channels = problem_.in_channels,
        .out_channels = problem_.out_channels,
        .taps = problem_.kernel.time,
        .tap_rows = tiles.per_frame(),
        .a = input,
        .b = pack_->weights.data(),
        .y = products};
    for (std::size_t i = 0; i < gemm.a_of.size(); ++i) {
      gemm.a_of[i] = static_cast<std::uint8_t>(i);
    }
    return gemm;
  }

  [[nodiscard]] kernels::WinogradOutput output(const geometry::WinogradTiles& tiles,
                                               const std::byte* products, const Fused& run) const {
    const NormedFrames& normed = run.normed;
    const bool norm = normed.gamma != nullptr;
    return {.tiles = tiles,
            .frames = problem_.frames,
            .channels = problem_.out_channels,
            .m = products,
            .bias = reinterpret_cast<const float*>(pack_->bias.data()),
            .residual = run.residual == nullptr ? nullptr : run.residual->data,
            .y = run.y == nullptr ? nullptr : run.y->data,
            .norm = {.gamma = norm ? normed.gamma->on(pack_->device) : nullptr,
                     .y = normed.y.data,
                     .history = normed.history.data,
                     .history_frames = normed.history.frames}};
  }

  Conv3dProblem problem_;
  const Conv3dWeights& weights_;
  std::int64_t tile_size_ = 0;
  std::vector<geometry::WinogradTiles> parts_;
  std::size_t input_bytes_ = 0, product_bytes_ = 0;
  std::shared_ptr<const WinogradPack> pack_;
};

class Winograd final : public Conv3dImplementation {
 public:
  [[nodiscard]] std::string name() const override { return "winograd"; }
  [[nodiscard]] bool fast() const override { return true; }
  [[nodiscard]] std::optional<std::string> refuses(const Conv3dProblem& problem,
                                                   const Device& device) const override {
    if (device.kind != DeviceKind::kCuda) return "runs on a GPU only";
    const WinogradChoice choice = choose_winograd(problem);
    if (choice.tile_size == 0) return choice.refusal;
    if (device::compute_capability(device.index) != 90) return "runs on Hopper only";
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> refuses_weights(
      const Conv3dProblem& problem, const Conv3dWeights& weights) const override {
    if (!weights.input_norm()) return "nothing bounds the input";
    const double bound =
        winograd_bound(weights, choose_winograd(problem).tile_size, *weights.input_norm());
    if (bound <= kSafeF16) return std::nullopt;
    return join("values up to ", bound, " would overflow f16");
  }
  [[nodiscard]] std::unique_ptr<Conv3dPlan> plan(const Conv3dProblem& problem,
                                                 const Conv3dWeights& weights) const override {
    return std::make_unique<WinogradPlan>(problem, weights);
  }
};

}  // namespace

const Conv3dImplementation& winograd_conv3d() {
  static const Winograd instance;
  return instance;
}

}  // namespace pantograph::ops
