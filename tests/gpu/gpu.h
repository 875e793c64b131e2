// What the tests of kernels share: arrays between guards, and numbers to fill them with.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/convert.h"
#include "core/random.h"
#include "device/check.h"
#include "device/memory.h"

namespace pantograph::test {

inline constexpr Device kGpu{.kind = DeviceKind::kCuda};

// Any GPU that there is code for.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override { device::require_gpu(kGpu.index); }
};

inline void fill_with_ones(std::byte* data, std::size_t bytes) {
  device::check(cudaMemset(data, 0xff, bytes));
}

// Elements on the GPU, of 16 bits or of the type given, NaN until written, between guards that
// nothing may write; what is read of them is NaN too.
class GuardedArray {
 public:
  explicit GuardedArray(std::int64_t elements, DType dtype = DType::kF16)
      : bytes_(static_cast<std::size_t>(elements) * size_of(dtype)),
        memory_(kGpu, kGuard + bytes_ + kGuard) {
    fill_with_ones(memory_.data(), memory_.bytes());
  }
  GuardedArray(const std::vector<float>& values, DType dtype)
      : GuardedArray(std::ssize(values), dtype) {
    std::vector<std::byte> rounded(bytes_);
    convert_from_f32(values.data(), dtype, rounded.data(), std::ssize(values));
    device::copy(data(), rounded.data(), bytes_, nullptr);
    device::synchronize(nullptr);
  }

  [[nodiscard]] std::byte* data() const { return memory_.data() + kGuard; }
  [[nodiscard]] std::vector<float> values(DType dtype) const {
    return values(dtype, 0, static_cast<std::int64_t>(bytes_ / size_of(dtype)));
  }
  [[nodiscard]] std::vector<float> values(DType dtype, std::int64_t begin,
                                          std::int64_t count) const {
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    std::vector<std::uint8_t> raw(static_cast<std::size_t>(count * size));
    device::copy(raw.data(), data() + begin * size, raw.size(), nullptr);
    device::synchronize(nullptr);
    if (dtype == DType::kU8) return {raw.begin(), raw.end()};
    std::vector<float> result(static_cast<std::size_t>(count));
    convert_to_f32(dtype, raw.data(), result.data(), count);
    return result;
  }
  [[nodiscard]] bool guards_are_whole() const {
    std::vector<std::byte> guards(2 * kGuard);
    device::copy(guards.data(), memory_.data(), kGuard, nullptr);
    device::copy(guards.data() + kGuard, data() + bytes_, kGuard, nullptr);
    device::synchronize(nullptr);
    return guards == std::vector<std::byte>(2 * kGuard, std::byte{0xff});
  }

 private:
  static constexpr std::size_t kGuard = 4096;
  std::size_t bytes_;
  device::Memory memory_;
};

inline device::Memory floats_on_gpu(const std::vector<float>& values) {
  device::Memory memory(kGpu, values.size() * sizeof(float));
  device::copy(memory.data(), values.data(), memory.bytes(), nullptr);
  device::synchronize(nullptr);
  return memory;
}
inline const float* as_floats(const device::Memory& memory) {
  return reinterpret_cast<const float*>(memory.data());
}

// Whole numbers from -3 to 3, exact in all types; sums of their products are so in f32.
inline std::vector<float> whole_numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const Random random(seed, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.bits(i) % 7) - 3;
  }
  return values;
}

// N(0, scale^2), rounded to `dtype`.
inline std::vector<float> normal_numbers(std::int64_t count, std::uint64_t seed, DType dtype,
                                         double scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const Random random(seed, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(scale * random.normal(i));
  }
  std::vector<std::byte> rounded(values.size() * size_of(dtype));
  convert_from_f32(values.data(), dtype, rounded.data(), count);
  convert_to_f32(dtype, rounded.data(), values.data(), count);
  return values;
}

inline float rounded(double value, DType dtype) {
  auto result = static_cast<float>(value);
  std::uint32_t bits;
  convert_from_f32(&result, dtype, &bits, 1);
  convert_to_f32(dtype, &bits, &result, 1);
  return result;
}

}  // namespace pantograph::test
