// The kernels of the token ops against the CPU reference, forward and backward.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <random>

#include "core/convert.h"
#include "device/memory.h"
#include "ops/token_ops/token_ops.h"

namespace pantograph::ops {
namespace {

constexpr Device kCpu{}, kGpu{.kind = DeviceKind::kCuda};

// The tensors of one run, on one device. Inputs of the same order are the same on every device.
class Tensors {
 public:
  explicit Tensors(const Device& device, DType dtype) : device_(device), dtype_(dtype) {}

  const void* random(std::int64_t elements, float offset = 0) {
    return input(elements, dtype_, offset);
  }
  const void* random_f32(std::int64_t elements) { return input(elements, DType::kF32, 0); }
  // NaN until it is written.
  void* output(std::int64_t elements) { return result(elements, dtype_); }
  void* output_f32(std::int64_t elements) { return result(elements, DType::kF32); }
  void* workspace(std::int64_t bytes) {
    return memory_.emplace_back(device_, static_cast<std::size_t>(bytes)).data();
  }
  [[nodiscard]] Target target() const { return {.device = device_}; }

  // Of all outputs, in the order in which they were asked for.
  [[nodiscard]] std::vector<std::vector<float>> results() const {
    std::vector<std::vector<float>> all;
    for (const Output& output : outputs_) {
      const auto count = static_cast<std::size_t>(output.elements);
      std::vector<std::byte> bytes(count * size_of(output.dtype));
      copy(bytes.data(), output.data, bytes.size());
      convert_to_f32(output.dtype, bytes.data(), all.emplace_back(count).data(), output.elements);
    }
    return all;
  }

 private:
  struct Output {
    std::byte* data;
    std::int64_t elements;
    DType dtype;
  };

  void copy(void* to, const void* from, std::size_t bytes) const {
    if (device_.kind == DeviceKind::kCpu) {
      std::memcpy(to, from, bytes);
    } else {
      device::copy(to, from, bytes, nullptr);
      device::synchronize(nullptr);
    }
  }
  std::byte* place(const std::vector<float>& values, DType dtype) {
    std::vector<std::byte> bytes(values.size() * size_of(dtype));
    convert_from_f32(values.data(), dtype, bytes.data(), static_cast<std::int64_t>(values.size()));
    std::byte* const data = memory_.emplace_back(device_, bytes.size()).data();
    copy(data, bytes.data(), bytes.size());
    return data;
  }
  const void* input(std::int64_t elements, DType dtype, float offset) {
    std::vector<float> values(static_cast<std::size_t>(elements));
    for (float& value : values) value = offset + normal_(generator_);
    return place(values, dtype);
  }
  void* result(std::int64_t elements, DType dtype) {
    const std::vector<float> poison(static_cast<std::size_t>(elements), std::nanf(""));
    return outputs_.emplace_back(place(poison, dtype), elements, dtype).data;
  }

  Device device_;
  DType dtype_;
  std::mt19937 generator_{7};
  std::normal_distribution<float> normal_;
  std::deque<device::Memory> memory_;
  std::vector<Output> outputs_;
};

struct Case {
  DType dtype;
  std::int64_t batch, tokens, heads, channels;  // channels of a head where there are heads
  bool shared = false;                          // tables of all samples instead of one each
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << to_string(c.dtype) << " [" << c.batch << ", " << c.tokens << ", " << c.heads << ", "
       << c.channels << "]" << (c.shared ? " shared" : "");
}

using Op = std::vector<std::vector<float>> (*)(const Device&, const Case&);

// q and k lie in one projection [B, S, 3, H, D].
std::vector<std::vector<float>> qk_rmsnorm_rope_both_ways(const Device& device, const Case& c) {
  Tensors t(device, c.dtype);
  const std::int64_t row = c.heads * c.channels, rows = c.batch * c.tokens;
  const HeadStrides strides{c.tokens * 3 * row, 3 * row, c.channels};
  const HeadStrides dense{c.tokens * row, row, c.channels};
  const auto* projection = static_cast<const std::byte*>(t.random(rows * 3 * row));
  const void* cos = t.random_f32(c.tokens * c.channels / 2);
  const void* sin = t.random_f32(c.tokens * c.channels / 2);
  QkRmsNormRope forward{.dtype = c.dtype,
                        .batch = c.batch,
                        .tokens = c.tokens,
                        .heads = c.heads,
                        .head_dim = c.channels,
                        .eps = 1e-6,
                        .cos = cos,
                        .sin = sin};
  QkRmsNormRopeBackward backward{.dtype = c.dtype,
                                 .batch = c.batch,
                                 .tokens = c.tokens,
                                 .heads = c.heads,
                                 .head_dim = c.channels,
                                 .cos = cos,
                                 .sin = sin};
  const void* x = projection;
  for (auto [to, back] : {std::pair{&forward.q, &backward.q}, {&forward.k, &backward.k}}) {
    *to = {x, strides, t.random(c.channels, 1), t.output(rows * row), t.output_f32(rows * c.heads)};
    *back = {t.random(rows * row), dense, x, strides, to->weight, to->rstd, t.output(rows * row),
             t.output(c.channels)};
    x = projection + static_cast<std::size_t>(row) * size_of(c.dtype);
  }
  qk_rmsnorm_rope(forward, t.target());
  qk_rmsnorm_rope_backward(backward, t.workspace(workspace_bytes(backward, device)), t.target());
  return t.results();
}

std::vector<std::vector<float>> gated_norm_both_ways(const Device& device, const Case& c) {
  Tensors t(device, c.dtype);
  const TokenShape shape{c.batch, c.tokens, c.channels};
  const std::int64_t rows = shape.rows(), tables = c.shared ? 1 : c.batch;
  const std::int64_t elements = rows * c.channels;
  const RowStrides dense{c.tokens * c.channels, c.channels};
  const auto table = [&](float offset) {
    return Table{t.random(tables * c.channels, offset), c.shared ? 0 : c.channels};
  };
  const LayerNormModulate forward{.dtype = c.dtype,
                                  .shape = shape,
                                  .eps = 1e-6,
                                  .x = {t.random(elements, 1), dense},
                                  .y = {t.random(elements), dense},
                                  .gate = table(0),
                                  .sum = t.output(elements),
                                  .scale = table(1),
                                  .shift = table(0),
                                  .out = t.output(elements),
                                  .mean = t.output_f32(rows),
                                  .rstd = t.output_f32(rows)};
  const LayerNormModulateBackward norm{.dtype = c.dtype,
                                       .shape = shape,
                                       .grad = {t.random(elements), dense},
                                       .grad_sum = {t.random(elements), dense},
                                       .x = {forward.sum, dense},
                                       .scale = forward.scale,
                                       .mean = forward.mean,
                                       .rstd = forward.rstd,
                                       .grad_x = t.output(elements),
                                       .grad_scale = t.output(tables * c.channels),
                                       .grad_shift = t.output(tables * c.channels)};
  const GatedResidual plain{c.dtype, shape, forward.x, forward.y, forward.gate, t.output(elements)};
  const GatedResidualBackward gated{.dtype = c.dtype,
                                    .shape = shape,
                                    .grad = norm.grad,
                                    .y = forward.y,
                                    .gate = forward.gate,
                                    .grad_y = t.output(elements),
                                    .grad_gate = t.output(tables * c.channels)};
  layer_norm_modulate(forward, t.target());
  layer_norm_modulate_backward(norm, t.workspace(workspace_bytes(norm, device)), t.target());
  gated_residual(plain, t.target());
  gated_residual_backward(gated, t.workspace(workspace_bytes(gated, device)), t.target());
  return t.results();
}

// Halves of one projection [B, S, 2 C].
std::vector<std::vector<float>> activations_both_ways(const Device& device, const Case& c) {
  Tensors t(device, c.dtype);
  const TokenShape shape{c.batch, c.tokens, c.channels};
  const std::int64_t elements = shape.rows() * c.channels;
  const RowStrides dense{c.tokens * c.channels, c.channels};
  const RowStrides half{2 * c.tokens * c.channels, 2 * c.channels};
  const auto* both = static_cast<const std::byte*>(t.random(2 * elements));
  const Rows value{both, half};
  const Rows gate{both + static_cast<std::size_t>(c.channels) * size_of(c.dtype), half};
  const Rows grad{t.random(elements), dense};
  swiglu({c.dtype, shape, value, gate, t.output(elements)}, t.target());
  swiglu_backward({c.dtype, shape, grad, value, gate, t.output(elements), t.output(elements)},
                  t.target());
  gelu_tanh({c.dtype, shape, value, t.output(elements)}, t.target());
  gelu_tanh_backward({c.dtype, shape, grad, value, t.output(elements)}, t.target());
  return t.results();
}

// The relative difference of two tensors, in the 2-norm; NaN where one holds it.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0, scale = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    squares += std::pow(double{a[i]} - double{b[i]}, 2);
    scale += std::pow(double{b[i]}, 2);
  }
  return scale > 0 ? std::sqrt(squares / scale) : std::sqrt(squares);
}

// Half a unit in the last place: the arithmetic is the same but for the order of f32 sums.
double half_unit(DType dtype) {
  return dtype == DType::kF32 ? 1e-6 : dtype == DType::kF16 ? 0x1p-11 : 0x1p-8;
}

class TokenOpsOnGpu : public testing::TestWithParam<Case> {
 protected:
  static void expect_reference(Op op) {
    const auto gpu = op(kGpu, GetParam()), cpu = op(kCpu, GetParam());
    ASSERT_EQ(gpu.size(), cpu.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      EXPECT_LE(difference(gpu[i], cpu[i]), half_unit(GetParam().dtype)) << "output " << i;
    }
    EXPECT_EQ(op(kGpu, GetParam()), gpu) << "two runs differ";
  }
};

class Heads : public TokenOpsOnGpu {};
TEST_P(Heads, FollowTheReference) {
  expect_reference(qk_rmsnorm_rope_both_ways);
}

class Channels : public TokenOpsOnGpu {};
TEST_P(Channels, OfGatesAndNormsFollowTheReference) {
  expect_reference(gated_norm_both_ways);
}
TEST_P(Channels, OfActivationsFollowTheReference) {
  expect_reference(activations_both_ways);
}

std::vector<Case> in_every_type(const std::vector<Case>& sizes) {
  std::vector<Case> cases;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (Case c : sizes) {
      c.dtype = dtype;
      cases.push_back(c);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Heads,
                         testing::ValuesIn(in_every_type({{{}, 1, 1, 1, 2},
                                                          {{}, 2, 5, 3, 128},
                                                          {{}, 1, 131, 5, 64},
                                                          {{}, 1, 7, 2, 254},
                                                          {{}, 1, 3, 2, 512}})));
INSTANTIATE_TEST_SUITE_P(All, Channels,
                         testing::ValuesIn(in_every_type({{{}, 1, 1, 1, 3},
                                                          {{}, 2, 5, 1, 257},
                                                          {{}, 3, 4, 1, 4096, true},
                                                          {{}, 2, 301, 1, 512},
                                                          {{}, 1, 2, 1, 16384}})));

// More elements than 32 bits count: the last ones are computed too.
TEST(TokenOpsBeyond32Bits, ReachTheLastRow) {
  constexpr std::int64_t kChannels = 4096, kTokens = (std::int64_t{1} << 31) / kChannels + 3;
  constexpr auto kBytes = static_cast<std::size_t>(kChannels * kTokens * 2);
  const device::Memory x(kGpu, kBytes), out(kGpu, kBytes);
  const std::vector<float> last = {-1, 0, 1, 3};
  std::array<std::uint16_t, 4> bits{};
  convert_from_f32(last.data(), DType::kBF16, bits.data(), 4);
  device::copy(x.data() + kBytes - sizeof bits, bits.data(), sizeof bits, nullptr);
  const RowStrides dense{kChannels * kTokens, kChannels};
  gelu_tanh({DType::kBF16, {1, kTokens, kChannels}, {x.data(), dense}, out.data()},
            {.device = kGpu});
  device::copy(bits.data(), out.data() + kBytes - sizeof bits, sizeof bits, nullptr);
  device::synchronize(nullptr);
  std::array<float, 4> values{};
  convert_to_f32(DType::kBF16, bits.data(), values.data(), 4);
  const std::array<float, 4> expected = {-0.1588F, 0, 0.8412F, 2.9964F};  // PyTorch's
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], expected[i], 0x1p-8);
}

}  // namespace
}  // namespace pantograph::ops
