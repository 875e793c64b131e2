// cuDNN's engines as a file keeps them, against the same engines just compiled.
#include <gtest/gtest.h>

#include "core/half.h"
#include "core/random.h"
#include "device/memory.h"
#include "ops/cudnn/convolution.h"
#include "ops/cudnn/engine_store.h"
#include "support/temp_dir.h"

namespace pantograph::ops::cudnn {
namespace {

constexpr Device kGpu{.kind = DeviceKind::kCuda};
constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

constexpr Conv3dProblem kProblem{.frames = 3,
                                 .height = 24,
                                 .width = 40,
                                 .in_channels = 64,
                                 .out_channels = 64,
                                 .kernel = {3, 3, 3},
                                 .accumulate = true,
                                 .dtype = DType::kBF16};

device::Memory on_gpu(const void* data, std::size_t bytes) {
  device::Memory memory(kGpu, bytes);
  device::copy(memory.data(), data, bytes, nullptr);
  device::synchronize(nullptr);
  return memory;
}

std::vector<std::uint16_t> random_bf16(std::int64_t count, std::uint64_t seed) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  const Random random(seed, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = float_to_bf16(static_cast<float>(random.uniform(i) - 0.5));
  }
  return values;
}

class CompiledEngine : public testing::Test {
 protected:
  // Of y, with the residual added.
  std::vector<std::uint16_t> run(const Plan& plan) const {
    const device::Memory y = on_gpu(residual_.data(), residual_.size() * 2);
    plan.run({.x = x_.data(),
              .weights = weights_.data(),
              .bias = bias_.data(),
              .y = y.data(),
              .workspace = workspace_.data()},
             nullptr);
    std::vector<std::uint16_t> result(residual_.size());
    device::copy(result.data(), y.data(), y.bytes(), nullptr);
    device::synchronize(nullptr);
    return result;
  }

 private:
  static device::Memory random_on_gpu(std::int64_t count, std::uint64_t seed) {
    const std::vector<std::uint16_t> values = random_bf16(count, seed);
    return on_gpu(values.data(), values.size() * 2);
  }
  static constexpr std::int64_t kPlane = kProblem.height * kProblem.width;

  const device::CurrentDevice current_{kGpu};
  const device::Memory x_ = random_on_gpu((kProblem.frames + 2) * kPlane * kProblem.in_channels, 1);
  const device::Memory weights_ =
      random_on_gpu(kProblem.out_channels * 27 * kProblem.in_channels, 2);
  const std::vector<float> ones_ = std::vector<float>(kProblem.out_channels, 1);
  const device::Memory bias_ = on_gpu(ones_.data(), ones_.size() * sizeof(float));
  const std::vector<std::uint16_t> residual_ =
      random_bf16(kProblem.frames * kPlane * kProblem.out_channels, 3);
  const device::Memory workspace_{kGpu, kWorkspaceBytes};
};

TEST_F(CompiledEngine, GivesTheSameBitsFromDisk) {
  const test::TempDir folder;
  const EngineStore store(folder.path());
  Convolution convolution(kProblem, true);
  int compared = 0;
  for (int i = 0; i < convolution.engines() && compared < 3; ++i) {
    const std::optional<Plan> built = convolution.build(i, kWorkspaceBytes);
    if (!built) continue;
    const std::string saved = built->save();
    if (saved.empty()) continue;
    store.save(built->engine_name(), saved);
    const std::optional<std::string> kept = store.load(built->engine_name());
    ASSERT_EQ(kept, saved);
    const std::optional<Plan> loaded =
        Plan::load(kProblem, true, built->engine_name(), *kept, kWorkspaceBytes);
    if (!loaded) continue;
    const std::vector<std::uint16_t> y = run(*built);
    EXPECT_NE(y, random_bf16(std::ssize(y), 3)) << "nothing was written";
    EXPECT_EQ(run(*loaded), y) << built->engine_name();
    ++compared;
  }
  EXPECT_GT(compared, 0) << "of " << convolution.engines() << " engines none can be kept";
}

}  // namespace
}  // namespace pantograph::ops::cudnn
